#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/sha256.h"
#include "net/http_server.h"

namespace everstep {

// What a request with an Idempotency-Key was and how it was answered.
struct KeptAnswer {
  Sha256Digest fingerprint{};
  ServerResponse response;
};

// Where answers are kept; a port. Thread-safe.
class IdempotencyStore {
 public:
  virtual ~IdempotencyStore() = default;
  virtual std::optional<KeptAnswer> Find(const std::string& key) = 0;
  // May forget at any time, the oldest first.
  virtual void Put(const std::string& key, KeptAnswer answer) = 0;
};

// Answers in memory: gone with the process, and after a time. Beyond its limits the one that was
// used longest ago goes.
class MemoryIdempotencyStore final : public IdempotencyStore {
 public:
  struct Limits {
    std::size_t entries_max = 100'000;
    std::size_t bytes_max = 64 << 20;
    std::chrono::milliseconds lifetime = std::chrono::hours(24);
  };
  MemoryIdempotencyStore(Limits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  std::optional<KeptAnswer> Find(const std::string& key) override;
  void Put(const std::string& key, KeptAnswer answer) override;
  std::size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    KeptAnswer answer;
    std::size_t bytes;
    Timestamp until;
  };
  using Entries = std::list<Entry>;
  void Erase(Entries::iterator entry);

  const Limits limits_;
  Clock& clock_;
  mutable std::mutex mutex_;
  Entries entries_;  // used last first
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
  std::size_t bytes_ = 0;
};

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

    // Keeps the answer for the next request of the key, unless it is one that is worth another try
    // (5xx, 408, 409, 425, 429, or larger than a MiB).
    void Finish(const ServerResponse& response);
    // The next request of the key begins anew.
    void Drop();

   private:
    friend class Idempotency;
    Idempotency* owner_ = nullptr;  // null: finished, dropped, or without a key
    std::string key_;
    Sha256Digest fingerprint_{};
  };

  enum class Outcome : std::uint8_t {
    kFresh,       // do it, then Finish
    kReplayed,    // the answer is `response`
    kInvalidKey,  // 400: not 1 to 255 printable characters
    kInUse,       // 409
    kReused,      // 422: the first request of the key was another one
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
  IdempotencyStore& store_;
  std::mutex mutex_;
  std::unordered_map<std::string, Sha256Digest> under_way_;  // key -> fingerprint
};

}  // namespace everstep
