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

// How long the answer to a request with an Idempotency-Key lasts.
enum class Keeping : std::uint8_t {
  kDurably,        // outlives the process
  kWithoutAnswer,  // as kDurably, but the answer holds a secret and is kept in memory alone
  kInMemory,       // it is about this process only
};

// What a request with an Idempotency-Key was and how it was answered.
struct KeptAnswer {
  Sha256Digest fingerprint{};
  ServerResponse response;
  bool gone = false;        // the process that gave the answer took it with it
  std::string tenant_id{};  // who asked
};

// Of the key and its scope.
using IdempotencyKeyDigest = Sha256Digest;

// Where answers are kept; a port. Thread-safe.
class IdempotencyStore {
 public:
  virtual ~IdempotencyStore() = default;
  // Does not wait for the disk.
  virtual std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) = 0;
  // Calls `kept` when the answer is as safe as `keeping` says or cannot be made so, on any thread.
  // May forget at any time, the oldest of a tenant first.
  virtual void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
                   std::function<void()> kept) = 0;
};

// Answers in memory: gone with the process, and after a time. Beyond its limits the oldest go of
// the tenant that has most, so that no tenant can push out the answers of others.
class MemoryIdempotencyStore final : public IdempotencyStore {
 public:
  struct Limits {
    std::uint32_t keys_max = 100'000;
    std::uint64_t bytes_max = 64 << 20;
    std::chrono::milliseconds lifetime = std::chrono::hours(24);
  };
  // An answer that is there no more.
  struct Forgotten {
    IdempotencyKeyDigest key{};
    Timestamp until{};
  };

  MemoryIdempotencyStore(Limits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) override;
  void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
           std::function<void()> kept) override;
  // Keeps the answer and tells what had to go for it; itself if it is too large.
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
  // mutex_ held
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
