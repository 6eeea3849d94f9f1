#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ulid.h"
#include "engine/append_authority.h"
#include "engine/live_run.h"
#include "engine/token_ledger.h"

namespace everstep {

// A decision on one run while it is being made: checks orders against the run's live state, applies
// the accepted ones, and collects their changes. The shard's lock must be held for its lifetime.
class Draft {
 public:
  using Touched = std::vector<std::pair<EntityKey, EntityState*>>;
  struct World {
    TokenLedger& tokens;
    UlidGenerator& ulids;
    Random& random;
    Touched& touched;  // scratch memory, reused by successive drafts
    Timestamp now;
  };

  Draft(LiveRun& run, World world);

  // The result of an order, and the write that it has to wait for.
  struct Answer {
    Result<Placed> placed;
    std::shared_ptr<CommitUnit> earlier;     // set for a duplicate of an event in flight
    std::optional<std::size_t> event_index;  // of its first event in this draft, if any
  };
  Answer Apply(const AppendOrder& order, const RunScope& defaults);

  bool empty() const { return unit_->change.events.empty(); }
  // Whether the draft decided on a token, and so holds the ledger's lock.
  bool holds_tokens() const { return token_lock_.owns_lock(); }
  // The unit that will contain the events of this draft.
  const std::shared_ptr<CommitUnit>& unit() const { return unit_; }
  // Completes the change. `new_run_no` is called if the draft creates the run.
  std::shared_ptr<CommitUnit> Finish(const std::function<RunNo()>& new_run_no);

 private:
  struct Savepoint;

  Answer ApplyRule(const AppendOrder& order, const RunScope& defaults);
  Result<std::vector<EventWrite>> Expand(const AppendOrder& order);
  Answer Place(const EventWrite& write, const RunScope& defaults);
  Status AdoptScope(const EventWrite& write, const RunScope& defaults);
  Status CheckScope(const EventWrite& write) const;
  Sha256Digest KeyOf(const Event& event) const;
  Status CheckPresentedKey(const EventWrite& write, const Event& event) const;
  Result<std::optional<Answer>> FindDuplicate(const EventWrite& write, Event event);
  // Where an event is that is not durable yet. Neither is set for a durable event.
  struct Whereabouts {
    std::shared_ptr<CommitUnit> earlier;
    std::optional<std::size_t> event_index;
  };
  Result<std::optional<Answer>> AnswerRepeat(const EventWrite& write, const Event& existing,
                                             Whereabouts where) const;
  Result<std::optional<Answer>> FindEarlierVisit(const EventWrite& write, Event event);
  Status SettleToken(Event& event);
  Status Record(Event&& event, EntityState* entity);
  using Released = std::map<EntityKey, EntityState*>;
  void Release(const Released& entities);
  void ChangeAlarm(const Event& event, const EntityState& before);
  void Touch(EntityKey key, EntityState* entity);
  void RollBack(Savepoint savepoint);
  std::string NewEventId();

  LiveRun& run_;
  World world_;
  std::unique_lock<std::mutex> token_lock_;  // held from the first decision on a token
  std::shared_ptr<CommitUnit> unit_;
  const Timestamp updated_before_;  // the run's updated_at before this draft
  // Set while a rollback may be needed.
  std::vector<std::pair<EntityState*, EntityState>>* undo_ = nullptr;
};

}  // namespace everstep
