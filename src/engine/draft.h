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

// One decision on one run in the making: judges orders against the run's live state, applies those
// that pass, and collects what they change. The shard's lock is held throughout.
class Draft {
 public:
  using Touched = std::vector<std::pair<EntityKey, EntityState*>>;
  struct World {
    TokenLedger& tokens;
    UlidGenerator& ulids;
    Random& random;
    Touched& touched;  // the draft's own; its memory serves one draft after another
    Timestamp now;
  };

  Draft(LiveRun& run, World world);

  // What became of an order: an answer, and where to wait for it.
  struct Answer {
    Result<Placed> placed;
    std::shared_ptr<CommitUnit> earlier;     // a duplicate of an event still on its way
    std::optional<std::size_t> event_index;  // of the first of its events that is in this draft
  };
  Answer Apply(const AppendOrder& order, const RunScope& defaults);

  bool empty() const { return unit_->change.events.empty(); }
  // What the events of this draft become durable with.
  const std::shared_ptr<CommitUnit>& unit() const { return unit_; }
  // Completes the change. `new_run_no` is asked when the draft creates its run.
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
  // Where an event is that is not yet durable; neither is set when it is.
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
  std::unique_lock<std::mutex> token_lock_;  // from the first decision on a token to the end
  std::shared_ptr<CommitUnit> unit_;
  const Timestamp updated_before_;  // the run, by what was decided before
  std::vector<std::pair<EntityState*, EntityState>>* undo_ = nullptr;  // set while it may be needed
};

}  // namespace everstep
