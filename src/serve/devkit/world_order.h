#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cbor.h"
#include "engine/order_rule.h"
#include "serve/devkit/run_attributes.h"
#include "serve/devkit/world_caller.h"
#include "serve/devkit/world_error.h"
#include "serve/devkit/world_event.h"

namespace everstep {

// How the engine_run_ref of an application's run begins.
inline constexpr std::string_view kDevkitEngine = "devkit/";

// The version of the rules that created the run; zero if it is not an application's run.
std::uint64_t SpecOf(const RunState& run);

// The queue for messages that replay the run, in the namespace of the application that started it.
std::string FlowTopicOf(const RunState& run);

// Maximum length of an event's opaque part.
inline constexpr std::size_t kWorldPayloadBytesMax = 8 << 20;

// One event that an application asks to record, with the DevKit's rules for it. Decides under the
// run's lock (OrderRule), so that exactly one of several concurrent callers succeeds.
class WorldOrder final : public OrderRule {
 public:
  // Parses the arguments of events.create: runId, type, correlationId, specVersion, occurredAt,
  // requestId, resumeId, data. Returns what is wrong with them, if anything.
  static std::optional<WorldError> Read(const CborItem& args, const WorldCaller& caller,
                                        std::string new_run_id, WorldOrder& order);

  // Sets the attributes against which an attr_set with `data` is checked. Accepted changes are
  // applied to `view`, so that later calls of the same batch see them. Both must outlive the
  // decision.
  void JudgeBy(AttributeView& view, const CborItem& data) {
    attributes_ = &view;
    attributes_data_ = &data;
    outdated_ = false;
  }

  // OrderRule
  std::optional<EntityKey> About() const override;
  const EventWrite* Mark() const override;
  Result<std::vector<EventWrite>> Decide(const RunState& run, const EntityState& entity) override;
  void Decided(const StoredRun& run, const EntityState& entity,
               std::span<const Event> events) override;

  // Sets the time at which the decision became durable.
  void Committed(Timestamp at) {
    for (Event& event : recorded_) event.persisted_at = at;
  }

  const WorldEventSpec& spec() const { return *spec_; }
  const RunId& run_id() const { return run_id_; }
  const std::string& correlation_id() const { return correlation_id_; }
  // ---- the result of a decision
  const std::optional<WorldError>& refusal() const { return refusal_; }
  // The attributes have changed since they were read: read them again and resubmit.
  bool is_outdated() const { return outdated_; }
  const StoredRun& run() const { return run_; }
  const EntityState& entity() const { return entity_; }
  const std::vector<Event>& recorded() const { return recorded_; }
  bool made_step() const { return made_step_; }
  bool met_conflict() const { return met_conflict_; }

 private:
  using Writes = Result<std::vector<EventWrite>>;

  std::optional<WorldError> ReadData(const CborItem* data, const WorldCaller& caller);
  std::optional<WorldError> Add(std::string_view name, const CborItem* data,
                                std::string_view left_out, std::vector<EventWrite>& to);
  // Starts the run, or opens the step's next attempt, if the log needs that before the event.
  EventWrite Start(EventType type) const;
  Error Refuse(WorldError error);
  Writes DecideRunStarted(const RunState& run);
  Writes DecideRunEnd(const RunState& run);
  Writes DecideStep(const RunState& run, const EntityState& step);
  Writes DecideStepStart(const RunState& run, const EntityState& step);
  Writes DecideHook(const RunState& run, const EntityState& hook);
  Writes DecideWait(const RunState& run, const EntityState& wait);
  Writes DecideAttributes(const RunState& run, const EntityState& set);
  // Returns `writes`, preceded by the start of the run if it has not started.
  Writes InBegunRun(const RunState& run, std::vector<EventWrite> writes) const;

  const WorldEventSpec* spec_ = nullptr;
  WorldCaller caller_;
  RunId run_id_;
  std::string correlation_id_;
  std::string request_id_;
  std::string resume_id_;  // hook_received: those of a run with the same id are one
  Timestamp occurred_at_{};
  std::uint64_t spec_version_ = 0;
  bool by_workflow_ = false;  // attr_set, like the next two
  AttributeView* attributes_ = nullptr;
  const CborItem* attributes_data_ = nullptr;
  std::vector<EventWrite> creation_;  // recorded first if the entity does not exist yet
  std::vector<EventWrite> event_;     // exactly one

  std::optional<WorldError> refusal_;
  bool outdated_ = false;
  StoredRun run_;
  EntityState entity_;
  std::vector<Event> recorded_;
  bool made_step_ = false;
  bool met_conflict_ = false;
};

}  // namespace everstep
