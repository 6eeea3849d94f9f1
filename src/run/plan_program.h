#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "flow/plan.h"
#include "run/plan_unit.h"
#include "run/program.h"

namespace everstep {

// A plan that is executed: which steps are ready, which are skipped, the loops, the fallbacks, and
// what is undone. An event costs its dependants, not the plan.
class PlanProgram final : public Program {
 public:
  PlanProgram(std::shared_ptr<const Plan> plan, ExecutionState& state);

  // ---- Program
  void Apply(const Event& event, const ActivityChange& change) override;
  void Encode(StateEncoder& codec) const override;
  void Decode(StateDecoder& codec) override;
  bool Next(Commands& commands) override;
  bool NextWhileEnding(Commands& commands) override;
  Undo NextUndo() override;
  Work WorkOf(ActivityNo no) const override;
  const ActivitySpec& SpecOf(ActivityNo no) const override { return ActionOf(KeyOf(no)); }
  Result<AttemptSpec> AttemptOf(ActivityNo no, const AttemptContext& context) const override;
  Result<std::string> ConcurrencyKeyOf(ActivityNo no) const override;
  Result<std::string> ResultOf(ActivityNo no, std::string returned) const override;
  bool IsCompensation(ActivityNo no) const override;
  bool MayRetry(ActivityNo no) const override;
  void SetAside(ActivityNo no) override;
  void PutBack(ActivityNo no) override;
  ActivityNo NumberOf(std::string_view id) override { return NoOf(UnitNamed(*plan_, id)); }
  ActivityNo Named(std::string_view id) override;
  std::optional<OrderRefusal> Refusal(ActivityNo no, StepOrder order) const override;
  bool MayRevive(ActivityNo no) const override;
  void Leave(ActivityNo no, Commands& commands) override;
  void View(RunView& view) const override;
  void VisitReady(const ReadyFn& visit) const override;
  EventSeq CauseOf(std::string_view id) const override;
  void ExplainDependencies(Explanation& to) const override;

  // ---- for expressions (plan_names.h)
  const Plan& plan() const { return *plan_; }
  const ExecutionState& state() const { return state_; }
  // Null: nothing has happened to it yet.
  const Activity* Find(const UnitKey& key) const;
  UnitKey KeyOf(ActivityNo no) const {
    EVERSTEP_ASSERT(no < keys_.size());
    return keys_[no];
  }
  const Value& LoopItem(const UnitKey& key) const;
  // The result of a step: of a loop the list of its items' results, in their order; of a step that
  // failed that of its fallback. Undefined: it has none.
  Value ResultOfStep(StepIndex step) const;

 private:
  // How a step came to its end.
  enum class End : std::uint8_t { kThrough, kSkipped, kFailed };

  struct Step {
    ActivityNo activity = kNoActivity;  // until something happens to it
    bool settled = false;               // its dependants have taken its end into account
    bool fallback_needed = false;       // of a step that is a fallback
    bool dependency_failed = false;
    std::uint32_t open = 0;     // dependencies that have not ended
    std::uint32_t through = 0;  // dependencies that ended well
    std::string skip_code;      // of a dependency that was skipped

    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.settled, self.fallback_needed, self.dependency_failed, self.open, self.through,
            self.skip_code);
    }
  };
  struct Item {
    ActivityNo activity = kNoActivity;
    bool settled = false;
  };
  struct Loop {
    ValueList items;
    std::vector<Item> units;
    std::set<std::uint32_t> again;  // items whose next attempt may start
    std::uint32_t next = 0;         // the first that has not begun
    std::uint32_t running = 0;
    std::uint32_t unsettled = 0;  // begun and not at their end for good
    std::uint32_t done = 0;       // at their end for good
    std::uint32_t failed = 0;
    bool stopped = false;   // an item failed for good: no item begins any more
    mutable Value results;  // of all items, once the loop is complete and somebody asked

    bool Over() const { return stopped ? running == 0 : next >= units.size() && unsettled == 0; }
  };
  // Where a step stands among those that are ready: by priority, then in the order written.
  struct Place {
    std::int32_t rank = 0;  // less urgent is larger
    StepIndex step = kNoStep;

    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.rank, self.step);
    }
    auto operator<=>(const Place&) const = default;
  };

  // plan_program.cc
  Work WorkOf(const UnitKey& key) const;
  const Action& ActionOf(const UnitKey& key) const;
  std::string IdOf(const UnitKey& key) const { return UnitId(*plan_, key); }
  ActivityNo NoOf(const UnitKey& key);  // makes the activity known
  bool Exists(const UnitKey& key) const;
  bool IsLoop(const UnitKey& key) const {
    return key.role == UnitKey::Role::kStep && plan_->steps[key.step].foreach.has_value();
  }
  EntityStatus StatusOf(StepIndex step) const;
  bool IsSettled(const UnitKey& key) const;
  bool FellBack(StepIndex step) const;  // the step failed, and its fallback runs or stands for it
  void StartOrSkip(Commands& commands, StepIndex step);
  void Skip(Commands& commands, StepIndex step, std::string_view code, std::string_view reason);
  bool NextDoomed(Commands& commands);
  bool NextRetry(Commands& commands);
  void Complete(Commands& commands);
  Result<AttemptSpec> TimerOf(const UnitKey& key, Timestamp now) const;
  Result<AttemptSpec> HookOf(const UnitKey& key) const;
  Result<AttemptSpec> LoopOf(const UnitKey& key) const;
  ProgramRef ChildOf(const UnitKey& key) const;
  StepView ViewOf(StepIndex step) const;

  // plan_program_fold.cc
  void Register(ActivityNo no);
  void ApplyStep(const UnitKey& key, const Event& event, const ActivityChange& change);
  void ApplyStarted(const UnitKey& key, const Event& event, EntityStatus before);
  void ApplyLoopStarted(StepIndex step, const Event& event);
  void ApplyCompleted(const UnitKey& key);
  void ApplyFailed(const UnitKey& key, const ActivityChange& change, const Event& event);
  void ApplyStepFailedForGood(StepIndex step, const Activity& activity, const Event& event);
  void ApplySkipped(const UnitKey& key, EntityStatus before);
  void EndItem(const UnitKey& key, bool success);
  void AskForRetry(const UnitKey& key);
  void TakeOut(const UnitKey& key);  // of what is ready
  void Settle(StepIndex step, End end, const std::string& code);
  void SettleFallbacks(StepIndex step, End end);
  static void SkipBegun(Loop& loop, const ActivityTable& activities);
  Place PlaceOf(StepIndex step) const { return {-plan_->steps[step].action.priority, step}; }

  // plan_program_loops.cc
  bool NextOfLoops(Commands& commands);
  bool NextItem(Commands& commands, StepIndex step);
  void FinishLoop(Commands& commands, StepIndex step);
  bool CloseIdleLoop(Commands& commands);
  void WithdrawItems(Commands& commands, StepIndex step);
  std::string LoopResult(const Loop& loop) const;

  const std::shared_ptr<const Plan> plan_;
  ExecutionState& state_;

  std::vector<UnitKey> keys_;  // by ActivityNo
  std::vector<Step> steps_;    // by StepIndex
  std::unordered_map<StepIndex, Loop> loops_;
  std::map<UnitKey, ActivityNo> undo_;
  std::uint32_t open_steps_ = 0;   // not settled
  std::set<Place> ready_;          // dependencies have ended, not begun
  std::set<StepIndex> doomed_;     // the same, and one of them failed
  std::set<UnitKey> retry_ready_;  // steps and undo units whose next attempt may start
  std::set<StepIndex> loops_open_;
  std::set<StepIndex> loops_changed_;  // may have an item to begin or be over; erased when checked
  std::set<UnitKey> aside_;            // ready, and waiting for a slot or a tool. Of this process.
  std::vector<UnitKey> succeeded_;     // what can be undone, in order; undo goes back along it
  std::size_t undo_next_ = SIZE_MAX;   // in succeeded_; what follows it is undone. Of this process.
};

// A plan as a program.
class CompiledPlan final : public CompiledProgram {
 public:
  explicit CompiledPlan(std::shared_ptr<const Plan> plan);

  const ProgramRef& ref() const override { return ref_; }
  std::string_view id() const override { return plan_->plan_id; }
  std::string_view version() const override { return plan_->plan_version; }
  std::string_view schema_version() const override { return plan_->schema_version; }
  bool requires_approval() const override { return plan_->requires_approval; }
  std::optional<Milliseconds> timeout() const override { return plan_->timeout; }
  std::int32_t priority() const override { return plan_->priority; }
  Result<Value> CheckInputs(std::string_view given) const override;
  bool checks_inputs_quickly() const override { return plan_->quick_input_check; }
  Result<std::string> ConcurrencyKeyFor(const Value& inputs) const override;
  bool computes_concurrency_key() const override { return !plan_->concurrency_key.constant(); }
  std::vector<Child> children() const override;
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_per_run() const override;
  std::unique_ptr<Program> Instantiate(ExecutionState& state) const override;

  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  const std::shared_ptr<const Plan> plan_;
  const ProgramRef ref_;
  const std::uint64_t bytes_;
};

// The plan; null: the program is of another format.
std::shared_ptr<const Plan> PlanOf(const CompiledProgram& program);

}  // namespace everstep
