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

// The sender and target of a request. The same key from another sender, or for another method or
// path, is a different key.
struct IdempotencyScope {
  std::string_view tenant_id;
  std::string_view token_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;  // part of the compared request, not of the scope
};

// Implements the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header-07): once a
// request has been answered, the same request with the same key gets the same answer. Thread-safe.
// `store` must outlive it.
class Idempotency {
 public:
  // The first request of a key. Until it is finished or dropped, others with the key get kInUse or
  // kReused. May be moved to any thread together with its work; must not outlive the Idempotency.
  class Call {
   public:
    Call() = default;  // a request without a key
    Call(Call&& other) noexcept;
    Call& operator=(Call&& other) noexcept;
    ~Call() { Drop(); }

    // True while the request has a key and is neither finished nor dropped.
    bool under_way() const { return owner_ != nullptr; }
    // The digest of the key and its scope; the same for every request of the key, also after a
    // restart.
    const IdempotencyKeyDigest& key() const { return key_; }
    // Keeps the answer for later requests of the key, then calls `give` on any thread. Answers
    // worth retrying (5xx, 408, 409, 425, 429) or larger than 1 MiB are not kept.
    void Finish(const ServerResponse& response, Keeping keeping, std::function<void()> give);
    // Releases the key; its next request starts anew.
    void Drop();

   private:
    friend class Idempotency;
    Idempotency* owner_ = nullptr;  // null: finished, dropped, or without a key
    IdempotencyKeyDigest key_{};
    Sha256Digest fingerprint_{};
    std::string tenant_id_;
  };

  enum class Outcome : std::uint8_t {
    kFresh,       // execute it, then call Finish
    kReplayed,    // the answer is `response`
    kInvalidKey,  // 400: not 1 to 255 printable characters
    kInUse,       // 409
    kReused,      // 422: the key was first used for a different request
    kGone,        // 410: it was executed, and its answer held a secret or was damaged
  };
  struct Begun {
    Outcome outcome = Outcome::kFresh;
    Call call;
    ServerResponse response;  // with "Idempotency-Replayed: true"
  };

  explicit Idempotency(IdempotencyStore& store) : store_(store) {}

  // `header` as received: a structured field ("abc" with quotes) or a bare string.
  Begun Begin(const IdempotencyScope& scope, std::string_view header, std::string_view body);

 private:
  void End(const IdempotencyKeyDigest& key);

  IdempotencyStore& store_;
  std::mutex mutex_;
  std::map<IdempotencyKeyDigest, Sha256Digest> under_way_;  // key -> fingerprint
};

}  // namespace everstep
