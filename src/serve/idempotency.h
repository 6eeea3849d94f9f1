#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "net/http_server.h"
#include "serve/idempotency_store.h"

namespace everstep {

// Who sends the request; the same key of somebody else, or for another path, is another key.
struct IdempotencyScope {
  std::string_view tenant_id;
  std::string_view token_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;  // a part of what is asked, not of the scope
};

// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header-07): the same key and the
// same request give the same answer, once it is done. Thread-safe. `store` must outlive it.
class Idempotency {
 public:
  // A request that was the first of its key. Until it is finished or dropped others of the key are
  // told that it is under way. Moves with the work, to any thread; must not outlive Idempotency.
  class Call {
   public:
    Call() = default;  // of a request without a key
    Call(Call&& other) noexcept;
    Call& operator=(Call&& other) noexcept;
    ~Call() { Drop(); }

    // Of a request with a key that is neither finished nor dropped.
    bool under_way() const { return owner_ != nullptr; }
    // Of the key and its scope: the same for the next request of the key, also after a restart.
    const IdempotencyKeyDigest& key() const { return key_; }
    // Keeps the answer for the next request of the key, unless it is one that is worth another try
    // (5xx, 408, 409, 425, 429, or larger than a MiB); then calls `give`, on any thread.
    void Finish(const ServerResponse& response, Keeping keeping, std::function<void()> give);
    // The next request of the key begins anew.
    void Drop();

   private:
    friend class Idempotency;
    Idempotency* owner_ = nullptr;  // null: finished, dropped, or without a key
    IdempotencyKeyDigest key_{};
    Sha256Digest fingerprint_{};
    std::string tenant_id_;
  };

  enum class Outcome : std::uint8_t {
    kFresh,       // do it, then Finish
    kReplayed,    // the answer is `response`
    kInvalidKey,  // 400: not 1 to 255 printable characters
    kInUse,       // 409
    kReused,      // 422: the first request of the key was another one
    kGone,        // 410: it was done, and its answer held a secret that was not kept
  };
  struct Begun {
    Outcome outcome = Outcome::kFresh;
    Call call;
    ServerResponse response;  // with "Idempotency-Replayed: true"
  };

  explicit Idempotency(IdempotencyStore& store) : store_(store) {}

  // `header` as sent, as a structured field ("abc" with quotes) or bare.
  Begun Begin(const IdempotencyScope& scope, std::string_view header, std::string_view body);

 private:
  void End(const IdempotencyKeyDigest& key);

  IdempotencyStore& store_;
  std::mutex mutex_;
  std::map<IdempotencyKeyDigest, Sha256Digest> under_way_;  // key -> fingerprint
};

}  // namespace everstep
