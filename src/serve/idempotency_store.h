#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "net/http_server.h"

namespace everstep {

// How long the answer to a request with an Idempotency-Key is kept.
enum class Keeping : std::uint8_t {
  kDurably,        // survives a restart
  kWithoutAnswer,  // like kDurably, but the answer holds a secret and is kept in memory only
  kInMemory,       // lost on restart: it concerns only this process
};

// A request with an Idempotency-Key and its answer.
struct KeptAnswer {
  std::optional<Sha256Digest> fingerprint;  // of the request; nothing: the record was damaged
  ServerResponse response;
  bool gone = false;        // the answer was lost when its process ended, or is damaged
  std::string tenant_id{};  // of the caller
};

// The digest of a key and its scope.
using IdempotencyKeyDigest = Sha256Digest;

// Stores answers; a port. Thread-safe.
class IdempotencyStore {
 public:
  virtual ~IdempotencyStore() = default;
  // Must not wait for the disk.
  virtual std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) = 0;
  // Calls `kept`, on any thread, when the answer is as durable as `keeping` requires or that has
  // failed. May evict answers at any time, a tenant's oldest first.
  virtual void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
                   std::function<void()> kept) = 0;
};

// Keeps answers in memory, for a limited time and until the process ends. Beyond its limits it
// evicts the oldest answer of the tenant that uses most, so that no tenant can evict the answers of
// others.
class MemoryIdempotencyStore final : public IdempotencyStore {
 public:
  struct Limits {
    std::uint32_t keys_max = 100'000;
    std::uint64_t bytes_max = 64 << 20;
    std::chrono::milliseconds lifetime = std::chrono::hours(24);
  };
  // An evicted answer.
  struct Forgotten {
    IdempotencyKeyDigest key{};
    Timestamp until{};
  };

  MemoryIdempotencyStore(Limits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) override;
  void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
           std::function<void()> kept) override;
  // Keeps the answer and returns what was evicted for it; the answer itself if it is too large.
  std::vector<Forgotten> Add(const IdempotencyKeyDigest& key, KeptAnswer answer, Timestamp until);
  Timestamp UntilFromNow() const { return clock_.Now() + limits_.lifetime; }
  std::size_t bytes() const;

 private:
  struct Entry;
  using Entries = std::list<Entry>;
  struct Tenant {
    std::list<Entries::iterator> entries;  // the newest first
    std::size_t bytes = 0;
  };
  using Tenants = std::map<std::string, Tenant>;
  struct Entry {
    IdempotencyKeyDigest key{};
    KeptAnswer answer;
    std::size_t bytes = 0;
    Timestamp until{};
    Tenants::iterator tenant{};
    std::list<Entries::iterator>::iterator place{};  // among the tenant's
  };
  // Must be called with mutex_ held.
  Forgotten Erase(Entries::iterator entry);
  Forgotten EraseOfLargest(std::size_t (*size)(const Tenant&));

  const Limits limits_;
  Clock& clock_;
  mutable std::mutex mutex_;
  Entries entries_;  // the newest first
  std::map<IdempotencyKeyDigest, Entries::iterator> by_key_;
  Tenants tenants_;
  std::size_t bytes_ = 0;
};

}  // namespace everstep
