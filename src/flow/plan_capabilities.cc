#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "flow/nearest.h"
#include "flow/plan_draft.h"

namespace everstep {
namespace {

constexpr std::array<std::string_view, 14> kBuiltIn = {
    "basic-execution",      "signal.pause.native",   "signal.pause.emulated",
    "cancel.cooperative",   "cancel.forced",         "workflow.child.workflows",
    "workflow.fan.dynamic", "workflow.fan.parallel", "query.workflow.state",
    "query.task.state",     "replay.full",           "replay.task",
    "signals.rate.limit",   "signals.concurrent"};

// Names in the enum of capabilities.schema.json. They are accepted in addition to the value itself
// and to the value in capitals.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kEnumNames = {{
    {"PAUSE_NATIVE", "signal.pause.native"},
    {"PAUSE_EMULATED", "signal.pause.emulated"},
    {"CANCEL_COOPERATIVE", "cancel.cooperative"},
    {"CANCEL_FORCED", "cancel.forced"},
    {"CHILD_WORKFLOWS", "workflow.child.workflows"},
    {"FAN_DYNAMIC", "workflow.fan.dynamic"},
    {"FAN_PARALLEL", "workflow.fan.parallel"},
    {"WORKFLOW_STATE", "query.workflow.state"},
    {"TASK_STATE", "query.task.state"},
    {"REPLAY_FULL", "replay.full"},
    {"REPLAY_TASK", "replay.task"},
    {"RATE_LIMIT", "signals.rate.limit"},
    {"CONCURRENT", "signals.concurrent"},
}};

constexpr std::array<std::string_view, 8> kTools = {"noop", "echo",  "merge",  "sleep",
                                                    "http", "shell", "python", "sqlite"};

// Whether `text` is `value` in capitals, as SIGNAL_PAUSE_NATIVE is for signal.pause.native.
bool IsCapitalsOf(std::string_view text, std::string_view value) {
  return std::equal(text.begin(), text.end(), value.begin(), value.end(), [](char t, char v) {
    return t == (v == '.' || v == '-' ? '_' : AsciiUpper(v));
  });
}

bool OffersTool(const PlanAudience& audience, std::string_view kind) {
  const std::vector<std::string>& kinds = audience.kinds;
  if (kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return true;
  return audience.other_kinds && !IsBuiltInTool(kind) && IsToolName(kind);
}

bool Offers(const PlanAudience& audience, std::string_view capability) {
  for (const std::string_view known : kBuiltIn) {
    if (capability == known || IsCapitalsOf(capability, known)) return true;
  }
  for (const auto& [name, value] : kEnumNames) {
    if (capability == name) return true;
  }
  for (const std::string& known : audience.capabilities) {
    if (capability == known || IsCapitalsOf(capability, known)) return true;
  }
  constexpr std::string_view kToolPrefix = "tool.";
  if (!capability.starts_with(kToolPrefix)) return false;
  return OffersTool(audience, capability.substr(kToolPrefix.size()));
}

void CheckAdapter(const Plan& plan, const MapReader& metadata) {
  const auto found = metadata.Find("targetAdapter");
  if (!found || !found->node->is_text()) return;
  const std::string& adapter = plan.target_adapter;
  if (adapter == "any" || adapter == "everstep" || adapter == "mock") return;
  PlanFaults& faults = metadata.faults();
  if (adapter != "temporal" && adapter != "conductor") {
    constexpr std::string_view kKnown[] = {"any", "everstep", "mock", "temporal", "conductor"};
    return faults.Add(*found, "'targetAdapter' must be any, everstep, mock, temporal or conductor" +
                                  DidYouMean(adapter, kKnown));
  }
  if (plan.fallback_behavior == "reject") {
    return faults.Add(
        *found,
        "the plan is meant for " + adapter + "; use everstep or any, or fallbackBehavior: emulate",
        ErrorCode::kTargetAdapterMismatch);
  }
  const bool emulated = plan.fallback_behavior == "emulate";
  faults.Warn(*found, emulated ? "CAPABILITY_EMULATED" : "CAPABILITY_DEGRADED",
              "the plan is meant for " + adapter + " but runs on Everstep");
}

}  // namespace

bool IsBuiltInTool(std::string_view kind) {
  return std::find(kTools.begin(), kTools.end(), kind) != kTools.end();
}

bool IsToolName(std::string_view kind) {
  constexpr std::size_t kBytesMax = 100;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !kind.empty() && kind.size() <= kBytesMax && (is_letter(kind[0]) || kind[0] == '_') &&
         std::all_of(kind.begin(), kind.end(), may_follow);
}

PlanAudience EveryTool() { return {{kTools.begin(), kTools.end()}, {}, false}; }

void CheckCapabilities(const PlanDraft& draft, const MapReader& metadata,
                       const PlanReading& reading) {
  const Plan& plan = *draft.plan;
  CheckAdapter(plan, metadata);
  const auto found = metadata.Find("requiresCapabilities");
  if (!found) return;
  for (std::size_t i = 0; i < found->node->children().size(); ++i) {
    const Place item = found->Item(i);
    if (!item.node->is_text() || item.node->text().empty()) continue;
    const std::string capability(item.node->text());
    if (Offers(reading.audience, capability)) continue;
    if (plan.fallback_behavior == "reject") {
      reading.faults.Add(item,
                         "the capability '" + capability + "' is not offered here" +
                             DidYouMean(capability, kBuiltIn) +
                             "; remove it, or set fallbackBehavior: degrade in the plan",
                         ErrorCode::kCapabilityNotSupported);
    } else if (plan.fallback_behavior == "emulate") {
      reading.faults.Warn(item, "CAPABILITY_EMULATED",
                          "the capability '" + capability + "' is not offered here");
    } else {
      reading.faults.Warn(item, "CAPABILITY_DEGRADED",
                          "the plan runs without the capability '" + capability + "'");
    }
  }
}

void CheckTool(const Place& kind, const PlanReading& reading) {
  const std::vector<std::string>& kinds = reading.audience.kinds;
  const std::string name(kind.node->text());
  if (OffersTool(reading.audience, name)) return;
  std::string message;
  if (IsBuiltInTool(name)) {
    message = "the tool '" + name +
              "' is not enabled here; a server's operator can enable it in tools.enable";
  } else {
    const std::vector<std::string_view> known(kinds.begin(), kinds.end());
    message = "there is no tool '" + name + "'" + DidYouMean(name, known);
  }
  reading.faults.Add(kind, std::move(message), ErrorCode::kCapabilityNotSupported);
}

}  // namespace everstep
