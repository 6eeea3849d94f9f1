#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/committer.h"
#include "serve/idempotency_store.h"
#include "store/state_store.h"

namespace everstep {

// Answers in memory that survive a restart: each is also a document of the store, durable before
// the answer is sent and removed when the answer expires. Answers that arrive while a write is in
// flight share the next ones: a write is bounded, and tenants take turns. If the store rejects
// writes, answers are still sent but are lost on restart.
class DurableAnswers final : public IdempotencyStore {
 public:
  // Loads what an earlier process kept. Of an unreadable answer it is remembered that its request
  // was executed. `committer` and its store must outlive this object.
  DurableAnswers(MemoryIdempotencyStore::Limits limits, StateStore& store, Committer& committer,
                 Clock& clock);
  // Calls every pending `kept` callback.
  ~DurableAnswers() override;

  std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& key) override {
    return memory_.Find(key);
  }
  void Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
           std::function<void()> kept) override;
  std::size_t bytes() const { return memory_.bytes(); }
  // The outcome of loading: an error means that answers are damaged or missing.
  const Status& loaded() const { return loaded_; }

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
  std::vector<Waiting> TakeBatch();  // mutex_ held
  void Write(std::vector<Waiting> batch);

  StateStore& store_;
  Committer& committer_;
  MemoryIdempotencyStore memory_;
  Status loaded_ = Ok();

  std::mutex mutex_;
  std::condition_variable changed_;
  // By tenant; no more than requests in flight.
  std::unordered_map<std::string, std::deque<Waiting>> waiting_;
  std::deque<std::string> turns_;          // those tenants, in the order of their turns
  std::vector<TenantDocument> forgotten_;  // removed with the next write
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace everstep
