#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/committer.h"
#include "serve/idempotency_store.h"
#include "store/state_store.h"

namespace everstep {

// Answers in memory that outlive the process: each is also a document of the store, durable before
// it is given, and removed when the answer is forgotten. Those that come while a write is under way
// share the next one. When the store takes no writes, an answer is given all the same and is gone
// with the process.
class DurableAnswers final : public IdempotencyStore {
 public:
  // Reads what an earlier process kept; what cannot be read is forgotten. `committer` and its
  // store must outlive it.
  DurableAnswers(MemoryIdempotencyStore::Limits limits, StateStore& store, Committer& committer,
                 Clock& clock);
  // Everybody who waits is called.
  ~DurableAnswers() override;

  std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) override {
    return memory_.Find(key);
  }
  void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
           std::function<void()> kept) override;
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  struct Waiting {
    IdempotencyKeyDigest key{};
    KeptAnswer answer;
    Keeping keeping{};
    std::function<void()> kept;
  };

  Status Load();
  void Keep(const IdempotencyKeyDigest& key, KeptAnswer answer, Timestamp until);
  void Loop();
  void Write(std::vector<Waiting> batch);

  StateStore& store_;
  Committer& committer_;
  MemoryIdempotencyStore memory_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;           // no more than requests under way
  std::vector<TenantDocument> forgotten_;  // removed with the next write
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace everstep
