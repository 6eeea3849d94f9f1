#include "serve/devkit/world_order.h"

#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/ulid.h"
#include "event/dialect.h"
#include "event/identifier.h"
#include "serve/devkit/cbor_json.h"
#include "serve/devkit/run_attributes.h"

namespace everstep {
namespace {

using enum WorldEventType;

constexpr std::string_view kRunPrefix = "wrun_";
constexpr std::chrono::hours kRunAgeMax{24};
constexpr std::chrono::minutes kRunAheadMax{5};
constexpr std::chrono::days kTokenKeptMost{30};

// Engine references of application runs begin with this, followed by the version of the rules.

std::optional<WorldError> CheckNewRunId(std::string_view run_id, Timestamp now) {
  if (!run_id.starts_with(kRunPrefix) || !IsUlid(run_id.substr(kRunPrefix.size()))) {
    return WorldError::Invalid("Invalid runId \"" + std::string(run_id) +
                               "\": it must be wrun_ and a ULID");
  }
  const Timestamp made = TimeOfId(run_id);
  if (made < now - kRunAgeMax || made > now + kRunAheadMax) {
    return WorldError::Invalid("Invalid runId \"" + std::string(run_id) + "\": its time " +
                               FormatTimestamp(made) +
                               " must be between 24 hours ago and 5 minutes from now");
  }
  return std::nullopt;
}

bool IsPending(const EntityState& step) {
  return step.status == EntityStatus::kPending ||
         (step.status == EntityStatus::kFailed && step.will_retry);
}

bool IsPendingRun(const RunState& run) {
  return run.status == RunStatus::kPending || run.status == RunStatus::kApproved;
}

std::string Lower(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

WorldError Paused(const RunId& run_id) {
  return WorldError::Throttled("run " + run_id.value() +
                                   " is paused; nothing starts until it is "
                                   "resumed",
                               1);
}

// Appends a member to a JSON object.
void AddMember(std::string_view key, std::string_view value, std::string& object) {
  constexpr std::size_t kMarks = 8;
  object.reserve(object.size() + key.size() + value.size() + kMarks);
  if (object.empty()) object = "{}";
  object.pop_back();
  if (object.size() > 1) object.push_back(',');
  object.append(JsonQuote(key)).append(":").append(value).append("}");
}

// devkit/<version>, followed by a slash and the namespace of its queues if there is one.
std::string EngineRef(std::uint64_t spec, const std::string& queue_namespace) {
  std::string ref = std::string(kDevkitEngine) + std::to_string(spec);
  if (!queue_namespace.empty()) ref.append("/").append(queue_namespace);
  return ref;
}

std::string JsonOf(const CborItem& value) {
  std::string text;
  JsonWriter json(text);
  (void)WriteJson(value, json);
  return text;
}

}  // namespace

std::uint64_t SpecOf(const RunState& run) {
  std::uint64_t spec = 0;
  const std::string_view ref = run.engine_run_ref;
  if (ref.starts_with(kDevkitEngine)) {
    (void)std::from_chars(ref.data() + kDevkitEngine.size(), ref.data() + ref.size(), spec);
  }
  return spec;
}

std::string FlowTopicOf(const RunState& run) {
  const std::string_view ref = run.engine_run_ref;
  const std::size_t slash =
      ref.starts_with(kDevkitEngine) ? ref.find('/', kDevkitEngine.size()) : std::string_view::npos;
  std::string topic = "__";
  if (slash != std::string_view::npos) topic.append(ref.substr(slash + 1)).append("_");
  return topic.append("wkf_workflow_").append(run.scope.plan_id);
}

std::optional<WorldError> WorldOrder::Read(const CborItem& args, const WorldCaller& caller,
                                           std::string new_run_id, WorldOrder& order) {
  const std::string_view name = args.Text("type");
  order.spec_ = FindWorldEvent(name);
  if (order.spec_ == nullptr) {
    return WorldError::Invalid("\"" + std::string(name) + "\" is not an event that can be created");
  }
  order.caller_ = caller;
  order.run_id_ = RunId(std::string(args.Text("runId")));
  order.correlation_id_ = args.Text("correlationId");
  order.request_id_ = args.Text("requestId");
  if (order.spec_->type == kHookReceived) order.resume_id_ = args.Text("resumeId");
  order.occurred_at_ = args.Time("occurredAt");
  order.spec_version_ = args.Uint("specVersion", caller.spec);
  if (order.spec_->type == kRunCreated) {
    if (order.run_id_.value().empty()) {
      order.run_id_ = RunId(std::move(new_run_id));
    } else if (auto bad = CheckNewRunId(order.run_id_.value(), caller.now)) {
      return bad;
    }
  }
  if (!IsIdentifier(order.run_id_.value())) {
    return WorldError::Invalid("Invalid runId \"" + order.run_id_.value() + "\"");
  }
  if (order.spec_->type == kAttrSet && order.correlation_id_.empty()) {
    order.correlation_id_ = kUnnamedAttributes;
  }
  if (order.spec_->entity != EntityKind::kRun && !IsName(order.correlation_id_)) {
    return WorldError::Invalid(std::string(name) + " needs a correlationId");
  }
  for (const std::string* id : {&order.request_id_, &order.resume_id_}) {
    if (id->empty() || IsIdentifier(*id)) continue;
    return WorldError::Invalid("Invalid requestId or resumeId");
  }
  return order.ReadData(args.Find("data"), caller);
}

std::optional<WorldError> WorldOrder::ReadData(const CborItem* data, const WorldCaller& caller) {
  if (data != nullptr && data->kind == CborItem::Kind::kNull) data = nullptr;
  if (data != nullptr && data->kind != CborItem::Kind::kMap) {
    return WorldError::Invalid("eventData must be an object");
  }
  const bool has_input = data != nullptr && data->Find("input") != nullptr;
  switch (spec_->type) {
    case kRunCreated:
      if (auto bad = CheckInitialAttributes(data)) return bad;
      return Add("run_created", data, {}, event_);
    case kRunStarted: {
      const bool makes =
          has_input && !data->Text("deploymentId").empty() && !data->Text("workflowName").empty();
      if (makes) {
        if (auto bad = CheckInitialAttributes(data)) return bad;
        if (auto bad = CheckNewRunId(run_id_.value(), caller.now)) return bad;
        if (auto bad = Add("run_created", data, {}, creation_)) return bad;
      }
      return Add("run_started", nullptr, {}, event_);
    }
    case kAttrSet: {
      if (auto bad = CheckAttributeChanges(data)) return bad;
      const CborItem* writer = data->Find("writer");
      by_workflow_ = writer != nullptr && writer->Text("type") == "workflow";
      break;
    }
    case kStepStarted:
      if (has_input && !data->Text("stepName").empty()) {
        if (auto bad = Add("step_created", data, {}, creation_)) return bad;
      }
      break;
    default:
      break;
  }
  return Add(spec_->name, data, spec_->type == kStepStarted ? "input" : "", event_);
}

EventWrite WorldOrder::Start(EventType type) const {
  EventWrite write;
  write.type = type;
  write.run_id = run_id_;
  write.scope.tenant_id = caller_.tenant_id;
  if (type == EventType::kStepScheduled) write.entity_id = correlation_id_;
  write.emitted_at = occurred_at_;
  write.foreign = true;
  write.attributes = "{\"specVersion\":" + std::to_string(spec_version_) + "}";
  return write;
}

// Builds one event through the dialect's parser, without its opaque member, which is added
// afterwards.
std::optional<WorldError> WorldOrder::Add(std::string_view name, const CborItem* data,
                                          std::string_view left_out, std::vector<EventWrite>& to) {
  const WorldEventSpec& spec = *FindWorldEvent(name);
  const CborItem* payload = nullptr;
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("eventType", name);
  json.Member("runId", run_id_.value());
  if (spec.entity != EntityKind::kRun) json.Member("correlationId", correlation_id_);
  if (spec_version_ > 0) json.Member("specVersion", spec_version_);
  if (occurred_at_ != Timestamp{}) json.Member("occurredAt", FormatTimestamp(occurred_at_));
  if (data != nullptr) {
    json.Key("eventData");
    json.BeginObject();
    for (std::size_t i = 0; i + 1 < data->items.size(); i += 2) {
      const std::string_view key = data->items[i].text;
      const CborItem& value = data->items[i + 1];
      if (!left_out.empty() && key == left_out) continue;
      if (key == spec.payload_member && value.kind == CborItem::Kind::kBytes) {
        payload = &value;
        continue;
      }
      json.Key(key);
      if (!WriteJson(value, json)) return WorldError::Invalid(std::string(key) + ": not a number");
    }
    json.EndObject();
  }
  json.EndObject();
  if (payload != nullptr && payload->text.size() > kWorldPayloadBytesMax) {
    return WorldError{"WorkflowWorldError", 413,
                      std::string(spec.payload_member) + " has " +
                          std::to_string(payload->text.size()) + " bytes; the maximum is " +
                          std::to_string(kWorldPayloadBytesMax)};
  }
  auto parsed = ParseEvent(Dialect::kDevkit, text);
  if (!parsed) return WorldErrorOf(parsed.error());
  EventWrite& write = parsed->events.front();
  write.scope.tenant_id = caller_.tenant_id;
  write.foreign = true;
  if (payload != nullptr) AddMember(spec.payload_member, JsonOf(*payload), write.payload);
  switch (spec.type) {
    case kRunCreated:
      write.facts.engine_run_ref = EngineRef(spec_version_, caller_.queue_namespace);
      break;
    case kHookCreated:
      if (data != nullptr) write.facts.due_at = data->Time("tokenRetentionUntil");
      if (write.facts.due_at > caller_.now + kTokenKeptMost) {
        return WorldError::Invalid("Hook minimum retention cannot exceed 30 days");
      }
      break;
    case kStepStarted:
    case kStepRetrying:
    case kHookReceived:
      if (!resume_id_.empty()) {
        write.instance_id = "resume/" + resume_id_;
        AddMember("resumeId", JsonQuote(resume_id_), write.attributes);
      } else if (!request_id_.empty() && spec.type == spec_->type) {
        write.instance_id = correlation_id_ + "/" + request_id_;
      }
      break;
    default:
      break;
  }
  to.push_back(std::move(write));
  return std::nullopt;
}

std::optional<EntityKey> WorldOrder::About() const {
  if (spec_->entity == EntityKind::kRun) return std::nullopt;
  return EntityKey{spec_->entity, correlation_id_};
}

const EventWrite* WorldOrder::Mark() const {
  return event_.front().instance_id.empty() ? nullptr : &event_.front();
}

Error WorldOrder::Refuse(WorldError error) {
  refusal_ = std::move(error);
  return {ErrorCode::kInvalidTransition, refusal_->message, {}};
}

void WorldOrder::Decided(const StoredRun& run, const EntityState& entity,
                         std::span<const Event> events) {
  run_ = run;
  entity_ = entity;
  recorded_.assign(events.begin(), events.end());
  made_step_ = spec_->type == kStepStarted && !creation_.empty();
  met_conflict_ = !events.empty() && events.back().type == EventType::kHookConflict;
  for (const Event& event : events) {
    if (attributes_ == nullptr || event.type != EventType::kContextUpdated) continue;
    ApplyAttributeChanges(*attributes_data_, attributes_->attributes);
    attributes_->seen = event.seq;
  }
}

WorldOrder::Writes WorldOrder::Decide(const RunState& run, const EntityState& entity) {
  refusal_.reset();
  outdated_ = false;
  const bool exists = run.status != RunStatus::kAbsent;
  if (exists && run.scope.tenant_id != caller_.tenant_id) {
    if (spec_->type != kRunCreated) return Refuse(WorldError::NoRun(run_id_.value()));
    return Refuse(WorldError::Conflict("Workflow run \"" + run_id_.value() + "\" already exists"));
  }
  if (exists && SpecOf(run) > caller_.spec) {
    return Refuse(WorldError::Unsupported("Run requires spec version " +
                                          std::to_string(SpecOf(run)) +
                                          ", but this application "
                                          "understands version " +
                                          std::to_string(caller_.spec) + " at most"));
  }
  switch (spec_->type) {
    case kRunCreated:
      if (!exists) return event_;
      return Refuse(
          WorldError::Conflict("Workflow run \"" + run_id_.value() + "\" already exists"));
    case kRunStarted:
      return DecideRunStarted(run);
    default:
      break;
  }
  if (!exists) return Refuse(WorldError::NoRun(run_id_.value()));
  switch (spec_->entity) {
    case EntityKind::kRun:
      return DecideRunEnd(run);
    case EntityKind::kStep:
      return DecideStep(run, entity);
    case EntityKind::kHook:
      return DecideHook(run, entity);
    case EntityKind::kWait:
      return DecideWait(run, entity);
    default:
      return DecideAttributes(run, entity);
  }
}

WorldOrder::Writes WorldOrder::InBegunRun(const RunState& run,
                                          std::vector<EventWrite> writes) const {
  if (IsPendingRun(run)) writes.insert(writes.begin(), Start(EventType::kRunStarted));
  return writes;
}

WorldOrder::Writes WorldOrder::DecideRunStarted(const RunState& run) {
  if (run.status == RunStatus::kAbsent) {
    if (creation_.empty()) return Refuse(WorldError::NoRun(run_id_.value()));
    std::vector<EventWrite> writes = creation_;
    writes.push_back(event_.front());
    return writes;
  }
  if (IsTerminal(run.status)) {
    return Refuse(WorldError::Expired("Workflow run \"" + run_id_.value() +
                                      "\" is already in terminal state \"" +
                                      Lower(Name(run.status)) + "\""));
  }
  if (!IsPendingRun(run)) return std::vector<EventWrite>();
  return event_;
}

WorldOrder::Writes WorldOrder::DecideRunEnd(const RunState& run) {
  if (IsTerminal(run.status)) {
    const bool again = spec_->type == kRunCancelled && run.status == RunStatus::kCancelled;
    if (again) {
      std::vector<EventWrite> writes = event_;
      writes[0].facts.late = true;
      return writes;
    }
    return Refuse(WorldError::Conflict("Cannot transition run from terminal state \"" +
                                       Lower(Name(run.status)) + "\""));
  }
  if (spec_->type != kRunCompleted) return event_;
  if (run.status == RunStatus::kPaused) return Refuse(Paused(run_id_));
  return InBegunRun(run, event_);
}

WorldOrder::Writes WorldOrder::DecideStep(const RunState& run, const EntityState& step) {
  const bool ended = IsTerminal(run.status);
  const bool creates = spec_->type == kStepCreated || !creation_.empty();
  if (creates) {
    if (ended) {
      return Refuse(WorldError::Conflict("Cannot create new entities on run in terminal state \"" +
                                         Lower(Name(run.status)) + "\""));
    }
    if (step.status != EntityStatus::kAbsent) {
      return Refuse(WorldError::Conflict("Step \"" + correlation_id_ + "\" already created"));
    }
    if (run.status == RunStatus::kPaused) return Refuse(Paused(run_id_));
    if (spec_->type == kStepCreated) return event_;
    std::vector<EventWrite> writes = creation_;
    writes.push_back(event_.front());
    return InBegunRun(run, std::move(writes));
  }
  if (step.status == EntityStatus::kAbsent) {
    return Refuse(WorldError::NotFound("Step \"" + correlation_id_ + "\" not found"));
  }
  const bool pending = IsPending(step);
  if (!pending && step.status != EntityStatus::kRunning) {
    return Refuse(WorldError::Conflict("Cannot modify step in terminal state \"" +
                                       Lower(Name(step.status)) + "\""));
  }
  const bool begins = spec_->type == kStepStarted || (pending && spec_->type == kStepFailed);
  if (ended && begins) {
    return Refuse(WorldError::Expired("Cannot modify step of a run in terminal state \"" +
                                      Lower(Name(run.status)) + "\""));
  }
  if (spec_->type == kStepStarted) return DecideStepStart(run, step);
  // A step that waits for its next attempt may end without starting it. The attempt is then opened
  // by an event that is not a start, so that the attempt number seen by the application stays the
  // same.
  std::vector<EventWrite> writes = event_;
  if (step.status == EntityStatus::kFailed) {
    if (run.status == RunStatus::kPaused) return Refuse(Paused(run_id_));
    writes.insert(writes.begin(), Start(EventType::kStepScheduled));
  }
  for (EventWrite& write : writes) write.facts.late = ended;
  return InBegunRun(run, std::move(writes));
}

WorldOrder::Writes WorldOrder::DecideStepStart(const RunState& run, const EntityState& step) {
  if (step.due_at != Timestamp{} && step.due_at > caller_.now) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(step.due_at - caller_.now);
    return Refuse(WorldError::TooEarly("Cannot start step \"" + correlation_id_ +
                                           "\": retryAfter is " + FormatTimestamp(step.due_at),
                                       static_cast<std::uint32_t>(left.count())));
  }
  if (run.status == RunStatus::kPaused && step.status == EntityStatus::kFailed) {
    return Refuse(Paused(run_id_));
  }
  return InBegunRun(run, event_);
}

WorldOrder::Writes WorldOrder::DecideHook(const RunState& run, const EntityState& hook) {
  if (spec_->type != kHookCreated) {
    if (hook.status == EntityStatus::kActive) return event_;
    return Refuse(WorldError::NoHook(correlation_id_));
  }
  if (IsTerminal(run.status)) {
    return Refuse(WorldError::Conflict("Cannot create new entities on run in terminal state \"" +
                                       Lower(Name(run.status)) + "\""));
  }
  if (hook.status == EntityStatus::kAbsent) return event_;
  return Refuse(WorldError::Conflict("Hook \"" + correlation_id_ + "\" already created"));
}

WorldOrder::Writes WorldOrder::DecideWait(const RunState& run, const EntityState& wait) {
  if (spec_->type == kWaitCreated) {
    if (IsTerminal(run.status)) {
      return Refuse(WorldError::Conflict("Cannot create new entities on run in terminal state \"" +
                                         Lower(Name(run.status)) + "\""));
    }
    if (wait.status == EntityStatus::kAbsent) return event_;
    return Refuse(WorldError::Conflict("Wait \"" + correlation_id_ + "\" already exists"));
  }
  const bool gone = wait.status == EntityStatus::kAbsent || IsTerminal(run.status);
  if (gone) return Refuse(WorldError::NotFound("Wait \"" + correlation_id_ + "\" not found"));
  if (wait.status == EntityStatus::kWaiting) return event_;
  return Refuse(WorldError::Conflict("Wait \"" + correlation_id_ + "\" already completed"));
}

WorldOrder::Writes WorldOrder::DecideAttributes(const RunState& run, const EntityState& set) {
  if (IsTerminal(run.status)) {
    return Refuse(
        WorldError::Conflict("Cannot set attributes on a run that is " + Lower(Name(run.status))));
  }
  if (by_workflow_ && set.status != EntityStatus::kAbsent) {
    return Refuse(WorldError::Conflict("attr_set " + correlation_id_ + " was already recorded"));
  }
  constexpr auto kType = static_cast<std::size_t>(EventType::kContextUpdated);
  outdated_ = attributes_ == nullptr || run.last_of_type[kType] != attributes_->seen;
  if (outdated_) return Refuse(WorldError::Conflict("the attributes have changed concurrently"));
  if (auto wrong = CheckAttributeCount(attributes_->attributes, *attributes_data_)) {
    return Refuse(*std::move(wrong));
  }
  return InBegunRun(run, event_);
}

}  // namespace everstep
