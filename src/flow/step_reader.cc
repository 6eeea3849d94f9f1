#include <algorithm>
#include <array>

#include "base/sha256.h"
#include "base/timestamp.h"
#include "flow/action_reader.h"
#include "flow/duration.h"
#include "flow/plan_draft.h"

namespace everstep {
namespace {

constexpr std::string_view kStepFields[] = {
    "stepId",        "name",      "kind",        "type",    "dependsOn",        "dependencies",
    "inputs",        "config",    "outputs",     "timeout", "heartbeatTimeout", "retryPolicy",
    "when",          "foreach",   "waitFor",     "plan",    "onFailure",        "compensate",
    "secretRefs",    "artifacts", "cancellable", "queue",   "priority",         "concurrencyKey",
    "idempotencyKey"};
constexpr std::string_view kForeachFields[] = {"items", "as", "index", "maxInFlight"};
constexpr std::string_view kWaitFields[] = {"duration", "until", "hook", "approval"};
constexpr std::string_view kHookFields[] = {"token", "timeout"};
constexpr std::string_view kApprovalFields[] = {"prompt", "token", "timeout"};
constexpr std::string_view kChildFields[] = {"uri", "sha256"};
constexpr std::string_view kFailureWords[] = {"fail", "hold", "continue"};
constexpr std::string_view kFallbackFields[] = {"fallback"};
constexpr std::array<std::string_view, 11> kCompensateFields = {
    "kind",  "inputs",   "timeout",     "heartbeatTimeout", "retryPolicy",   "secretRefs",
    "queue", "priority", "cancellable", "concurrencyKey",   "idempotencyKey"};
constexpr std::int64_t kInFlightMax = 10'000;

bool HasHole(const Node& node) {
  return node.is_text() && node.text().find("{{") != std::string_view::npos;
}

bool IsStepId(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > 100 || !alphanumeric(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

// Reads one step. References to other steps are resolved later, when all steps are known.
class StepReader {
 public:
  StepReader(PlanDraft& draft, const Place& place, const PlanReading& reading)
      : draft_(draft),
        reading_(reading),
        faults_(reading.faults),
        map_(place, kStepFields, reading.faults),
        templates_(draft, static_cast<StepIndex>(draft.plan->steps.size()), reading.faults) {}

  void Read() {
    StepDraft notes;
    notes.node = map_.place().node;
    ReadIdentity();
    ReadKindOf();
    ReadDependencies(notes);
    ReadInputs();
    templates_.ReadMember(map_, "outputs", TemplateRole::kOutputs, step_.outputs);
    ReadAction(map_, templates_, TemplateRole::kKey, step_.action);
    ReadWhen();
    ReadForeach();
    ReadWait();
    ReadChild();
    CheckToolFields();
    ReadOnFailure(notes);
    ReadCompensate();
    map_.Texts("artifacts", step_.action.artifacts);
    draft_.plan->steps.push_back(std::move(step_));
    draft_.steps.push_back(notes);
  }

 private:
  void ReadIdentity() {
    const auto id = map_.Require("stepId", "each step needs a unique name");
    if (map_.Text("stepId", step_.step_id) && !IsStepId(step_.step_id)) {
      faults_.Add(*id,
                  "'stepId' must be 1 to 100 letters, digits, '.', '_' and '-', and begin with a "
                  "letter or digit");
    }
    map_.Text("name", step_.name);
  }

  // Finds a field by its current or its older name. Adds a fault if both are present.
  std::optional<Place> FindEither(std::string_view now, std::string_view before) {
    const auto current = map_.Find(now);
    const auto older = map_.Find(before);
    if (current && older) {
      faults_.AddAtKey(*older, "'" + std::string(before) + "' is the older name of '" +
                                   std::string(now) + "', which is there too; remove one of them");
    }
    return current ? current : older;
  }

  void ReadKindOf() {
    const auto kind = FindEither("kind", "type");
    const bool waits = map_.Has("waitFor");
    const bool child = map_.Has("plan");
    std::string& field = step_.action.kind;
    field = waits ? "wait" : child ? "plan" : "noop";
    if (waits && child) {
      faults_.AddAtKey(*map_.Find("plan"),
                       "a step has 'waitFor' or 'plan', not both; make two steps");
    }
    std::string written;
    if (!kind || !ReadKind(*kind, written, faults_)) return;
    if ((waits || child) && written != field) {
      faults_.Add(*kind, "a step with '" + std::string(waits ? "waitFor" : "plan") +
                             "' has no tool of its own; remove 'kind', or make two steps");
    } else if (!waits && written == "wait") {
      faults_.Add(*kind, "a step of kind wait needs 'waitFor'");
    } else if (!child && written == "plan") {
      faults_.Add(*kind, "a step of kind plan needs 'plan', the plan to run");
    } else if (!waits && !child) {
      CheckTool(*kind, reading_);
    }
    field = std::move(written);
  }

  void ReadDependencies(StepDraft& notes) {
    const auto found = FindEither("dependsOn", "dependencies");
    if (!found) return;
    if (!found->node->is_list()) return FaultKind(*found, "a list of step ids", faults_);
    notes.depends_on = found->node;
  }

  void ReadInputs() {
    step_.action.inputs = EmptyMapTemplate();
    const auto found = FindEither("inputs", "config");
    if (!found) return;
    if (map_.Has("waitFor")) {
      return faults_.AddAtKey(*found, "a step that waits takes no inputs; remove them");
    }
    if (!found->node->is_map()) return FaultKind(*found, "a map", faults_);
    step_.action.inputs = templates_.Read(*found, TemplateRole::kInputs);
  }

  void ReadWhen() {
    const auto found = map_.Find("when");
    if (!found) return;
    if (!found->node->is_text() && found->node->kind != Node::Kind::kBool) {
      return FaultKind(*found, "text (an expression), true or false", faults_);
    }
    step_.when = templates_.ReadCondition(*found, TemplateRole::kWhen);
  }

  void ReadForeach() {
    const auto found = map_.Find("foreach");
    if (!found) return;
    Foreach& loop = step_.foreach.emplace();
    if (found->node->is_text() || found->node->is_list()) {
      loop.items = templates_.ReadCondition(*found, TemplateRole::kForeach);
      return;
    }
    const MapReader map(*found, kForeachFields, faults_);
    const auto items = map.Require("items", "a list, or an expression that returns one");
    if (items && !items->node->is_text() && !items->node->is_list()) {
      FaultKind(*items, "a list or an expression", faults_);
    } else if (items) {
      loop.items = templates_.ReadCondition(*items, TemplateRole::kForeach);
    }
    ReadLoopName(map, "as", loop.item_name);
    ReadLoopName(map, "index", loop.index_name);
    if (loop.item_name == loop.index_name) {
      faults_.Add(*found, "'as' and 'index' are both '" + loop.item_name + "'; rename one of them");
    }
    std::int64_t in_flight = loop.in_flight_max;
    map.Integer("maxInFlight", 1, kInFlightMax, in_flight);
    loop.in_flight_max = static_cast<std::uint32_t>(in_flight);
  }

  void ReadLoopName(const MapReader& map, std::string_view key, std::string& field) {
    std::string name;
    if (!map.Text(key, name)) return;
    const bool taken = std::find(std::begin(kExpressionRoots), std::end(kExpressionRoots), name) !=
                       std::end(kExpressionRoots);
    if (!IsSimpleName(name) || taken) {
      const char* why = taken
                            ? " is reserved in expressions; choose another name"
                            : " must have letters, digits and '_' only, and not begin with a digit";
      return faults_.Add(*map.Find(key), "'" + name + "'" + why);
    }
    field = std::move(name);
  }

  void ReadWait() {
    const auto found = map_.Find("waitFor");
    if (!found) return;
    WaitFor& wait = step_.wait_for.emplace();
    const MapReader map(*found, kWaitFields, faults_);
    if (!found->node->is_map()) return;
    const auto known = [&](std::string_view field) { return map.Has(field); };
    if (std::count_if(std::begin(kWaitFields), std::end(kWaitFields), known) != 1) {
      return faults_.Add(*found, "'waitFor' takes one of duration, until, hook and approval");
    }
    if (const auto duration = map.Find("duration")) {
      wait.kind = WaitFor::Kind::kDuration;
      if (!HasHole(*duration->node) && !ReadDuration(*duration, faults_)) return;
      wait.when = templates_.Read(*duration, TemplateRole::kWait);
    } else if (const auto until = map.Find("until")) {
      wait.kind = WaitFor::Kind::kUntil;
      ReadUntil(*until, wait);
    } else if (const auto hook = map.Find("hook")) {
      wait.kind = WaitFor::Kind::kHook;
      ReadHook(MapReader(*hook, kHookFields, faults_), wait);
    } else {
      wait.kind = WaitFor::Kind::kApproval;
      const auto approval = map.Find("approval");
      ReadHook(MapReader(*approval, kApprovalFields, faults_), wait);
    }
  }

  void ReadUntil(const Place& place, WaitFor& wait) {
    if (!place.node->is_text()) return FaultKind(place, "text, a time", faults_);
    if (!HasHole(*place.node) && !ParseTimestamp(place.node->text())) {
      return faults_.Add(place,
                         "'until' must be a time such as \"2030-01-31T08:00:00Z\", or an "
                         "expression that returns one");
    }
    wait.when = templates_.Read(place, TemplateRole::kWait);
  }

  void ReadHook(const MapReader& map, WaitFor& wait) {
    for (const std::string_view key : {"token", "prompt"}) {
      const auto found = map.Find(key);
      if (!found) continue;
      Template& field = key == "token" ? wait.token : wait.prompt;
      if (!found->node->is_text()) {
        FaultKind(*found, "text", faults_);
      } else if (found->node->text().empty()) {
        faults_.Add(*found, "'" + std::string(key) + "' is empty; leave it out");
      } else {
        field = templates_.Read(*found, TemplateRole::kWait);
      }
    }
    map.Duration("timeout", wait.timeout);
  }

  void ReadChild() {
    const auto found = map_.Find("plan");
    if (!found) return;
    ChildPlan& child = step_.child.emplace();
    const Node& node = *found->node;
    if (node.is_text()) {
      child.reference = node.text();
      if (child.reference.empty())
        faults_.Add(*found, "'plan' is empty; name a plan's file or URI");
      return;
    }
    if (!node.is_map()) return FaultKind(*found, "a plan, or text that names one", faults_);
    if (node.Find("steps") != nullptr || node.Find("metadata") != nullptr) {
      (void)ReadPlanAt(*found, reading_);
      child.document = ToJson(node);
      return;
    }
    const MapReader map(*found, kChildFields, faults_);
    const auto uri = map.Require("uri", "the plan's file or URI; or write the plan itself here");
    if (map.Text("uri", child.reference) && child.reference.empty()) {
      faults_.Add(*uri, "'uri' is empty; name a plan's file or URI");
    }
    if (map.Text("sha256", child.sha256) && !DigestFromHex(child.sha256)) {
      faults_.Add(*map.Find("sha256"), "'sha256' must be 64 lower-case hexadecimal digits");
    }
  }

  // Adds a fault for each field that only a tool can use, if the step has no tool.
  void CheckToolFields() {
    if (!map_.Has("waitFor") && !map_.Has("plan")) return;
    // The holder of a hook's token can send heartbeats.
    const bool has_hook = step_.wait_for && (step_.wait_for->kind == WaitFor::Kind::kHook ||
                                             step_.wait_for->kind == WaitFor::Kind::kApproval);
    for (const std::string_view key : {"secretRefs", "artifacts", "heartbeatTimeout"}) {
      if (key == "heartbeatTimeout" && has_hook) continue;
      if (const auto found = map_.Find(key)) {
        faults_.AddAtKey(*found,
                         "a step with '" + std::string(map_.Has("plan") ? "plan" : "waitFor") +
                             "' has no tool that could use '" + std::string(key) + "'; remove it");
      }
    }
  }

  void ReadOnFailure(StepDraft& notes) {
    const auto found = map_.Find("onFailure");
    if (!found) return;
    if (!found->node->is_map()) {
      auto word = static_cast<std::size_t>(step_.on_failure);
      map_.Word("onFailure", kFailureWords, word);
      step_.on_failure = static_cast<PlanStep::OnFailure>(word);
      return;
    }
    const MapReader map(*found, kFallbackFields, faults_);
    const auto fallback = map.Require("fallback", "the step that runs when this one fails");
    if (!fallback) return;
    if (!fallback->node->is_text()) return FaultKind(*fallback, "text, a step id", faults_);
    step_.on_failure = PlanStep::OnFailure::kFallback;
    notes.fallback = fallback->node;
  }

  void ReadCompensate() {
    const auto found = map_.Find("compensate");
    if (!found) return;
    Action& action = step_.compensate.emplace();
    const MapReader map(*found, kCompensateFields, faults_);
    action.inputs = EmptyMapTemplate();
    const auto kind = map.Require("kind", "the tool that undoes the step");
    if (kind && ReadKind(*kind, action.kind, faults_)) {
      if (action.kind == "wait" || action.kind == "plan") {
        faults_.Add(*kind, "only a tool can undo a step, not " + action.kind);
      } else {
        CheckTool(*kind, reading_);
      }
    }
    templates_.ReadMap(map, "inputs", TemplateRole::kCompensate, action.inputs);
    ReadAction(map, templates_, TemplateRole::kCompensateKey, action);
    if (!map.Has("secretRefs")) action.secrets = step_.action.secrets;
  }

  PlanDraft& draft_;
  const PlanReading& reading_;
  PlanFaults& faults_;
  MapReader map_;
  TemplateReader templates_;
  PlanStep step_;
};

}  // namespace

void ReadSteps(PlanDraft& draft, const Place& place, const PlanReading& reading) {
  const std::size_t count = place.node->children().size();
  if (!place.node->is_list()) return FaultKind(place, "a list", reading.faults);
  if (count == 0) return reading.faults.Add(place, "a plan needs at least one step");
  if (count > kPlanStepsMax) {
    return reading.faults.Add(place, "a plan has at most " + std::to_string(kPlanStepsMax) +
                                         " steps, this one has " + std::to_string(count) +
                                         "; use foreach or child plans");
  }
  draft.steps_node = place.node;
  draft.plan->steps.reserve(count);
  draft.steps.reserve(count);
  for (std::size_t i = 0; i < count; ++i) StepReader(draft, place.Item(i), reading).Read();
}

}  // namespace everstep
