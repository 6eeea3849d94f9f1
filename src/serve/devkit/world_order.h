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

// The version of the rules that a run was made by; zero: it is no run of an application.
std::uint64_t SpecOf(const RunState& run);

// The queue of messages that replay the run: in the name space of the application that began it.
std::string FlowTopicOf(const RunState& run);

// The opaque part of an event is at most this long.
inline constexpr std::size_t kWorldPayloadBytesMax = 8 << 20;

// One event that an application asks to record, with the DevKit's rules for it. Decides under the
// run's lock (OrderRule), so that of any number of callers one wins.
class WorldOrder final : public OrderRule {
 public:
  // Reads the arguments of events.create: runId, type, correlationId, specVersion, occurredAt,
  // requestId, resumeId, data. An error says what is wrong with them.
  static std::optional<WorldError> Read(const CborItem& args, const WorldCaller& caller,
                                        std::string new_run_id, WorldOrder& order);

  // An attr_set with that data is judged by what was seen of the run's attributes. What it changes
  // is noted there, so that others of the same batch can follow it. Both must outlive the decision.
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

  // The decision is durable since then.
  void Committed(Timestamp at) {
    for (Event& event : recorded_) event.persisted_at = at;
  }

  const WorldEventSpec& spec() const { return *spec_; }
  const RunId& run_id() const { return run_id_; }
  const std::string& correlation_id() const { return correlation_id_; }
  // ---- of a decision
  const std::optional<WorldError>& refusal() const { return refusal_; }
  // The attributes have changed since they were looked at: look, and submit it again.
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
  // The start of the run, or of the step's next attempt, that has to be there before the event.
  EventWrite Start(EventType type) const;
  Error Refuse(WorldError error);
  Writes DecideRunStarted(const RunState& run);
  Writes DecideRunEnd(const RunState& run);
  Writes DecideStep(const RunState& run, const EntityState& step);
  Writes DecideStepStart(const RunState& run, const EntityState& step);
  Writes DecideHook(const RunState& run, const EntityState& hook);
  Writes DecideWait(const RunState& run, const EntityState& wait);
  Writes DecideAttributes(const RunState& run, const EntityState& set);
  // The event itself, behind the start of the run where it has not begun.
  Writes InBegunRun(const RunState& run, std::vector<EventWrite> writes) const;

  const WorldEventSpec* spec_ = nullptr;
  WorldCaller caller_;
  RunId run_id_;
  std::string correlation_id_;
  std::string request_id_;
  std::string resume_id_;  // of hook_received: all with the same in a run are one
  Timestamp occurred_at_{};
  std::uint64_t spec_version_ = 0;
  bool by_workflow_ = false;  // of attr_set, as the next two
  AttributeView* attributes_ = nullptr;
  const CborItem* attributes_data_ = nullptr;
  std::vector<EventWrite> creation_;  // what has to be there before, if it can be made
  std::vector<EventWrite> event_;     // one

  std::optional<WorldError> refusal_;
  bool outdated_ = false;
  StoredRun run_;
  EntityState entity_;
  std::vector<Event> recorded_;
  bool made_step_ = false;
  bool met_conflict_ = false;
};

}  // namespace everstep
