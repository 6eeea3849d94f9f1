#include "run/signal_rules.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/uuid.h"
#include "event/identifier.h"

namespace everstep {
namespace {

constexpr std::size_t kSignalBytesMax = 64 * 1024;
constexpr std::size_t kReasonMax = 500;
constexpr std::size_t kNoteMax = 1000;

constexpr SignalRule kRules[] = {
    {"PAUSE", "Operator", false, "stop starting steps; running steps finish"},
    {"RESUME", "Operator", false, "continue a paused run"},
    {"CANCEL", "Operator", false, "end the run: stop running steps, compensate completed ones"},
    {"RETRY_STEP", "Engineer", false, "start a new attempt of a failed step"},
    {"RETRY_RUN", "Engineer", false, "start a new run with the same plan and inputs"},
    {"SKIP_STEP", "Engineer", false, "skip a step"},
    {"UPDATE_PARAMS", "Admin", true, "change the inputs of the run for later steps"},
    {"INJECT_OVERRIDE", "Admin", true, "set inputs or the result of the next attempt of a step"},
    {"UPDATE_TARGET", "Admin", true, "change inputs of all further attempts of a step"},
    {"EMERGENCY_STOP", "Admin", true, "end the run at once, without compensation"},
    {"ESCALATE_ALERT", "System", false, "raise an alert about the run"},
};

enum class FieldKind : std::uint8_t { kText, kFlag, kMap, kLevel };

struct FieldSpec {
  std::string_view type;
  std::string_view name;
  FieldKind kind;
  bool required;
  std::size_t min;
  std::size_t max;
};
constexpr FieldSpec kFields[] = {
    {"PAUSE", "reason", FieldKind::kText, false, 0, kReasonMax},
    {"CANCEL", "reason", FieldKind::kText, false, 0, kReasonMax},
    {"RETRY_STEP", "stepId", FieldKind::kText, true, 1, 128},
    {"RETRY_STEP", "force", FieldKind::kFlag, false, 0, 0},
    {"RETRY_RUN", "reason", FieldKind::kText, false, 0, kReasonMax},
    {"RETRY_RUN", "force", FieldKind::kFlag, false, 0, 0},
    {"SKIP_STEP", "stepId", FieldKind::kText, true, 1, 128},
    {"SKIP_STEP", "reason", FieldKind::kText, false, 0, kReasonMax},
    {"UPDATE_PARAMS", "params", FieldKind::kMap, true, 0, 0},
    {"INJECT_OVERRIDE", "stepId", FieldKind::kText, true, 1, 128},
    {"INJECT_OVERRIDE", "override", FieldKind::kMap, true, 0, 0},
    {"UPDATE_TARGET", "stepId", FieldKind::kText, true, 1, 128},
    {"UPDATE_TARGET", "newTarget", FieldKind::kMap, true, 0, 0},
    {"EMERGENCY_STOP", "reason", FieldKind::kText, true, 1, kNoteMax},
    {"EMERGENCY_STOP", "forceKill", FieldKind::kFlag, false, 0, 0},
    {"ESCALATE_ALERT", "level", FieldKind::kLevel, true, 0, 0},
    {"ESCALATE_ALERT", "note", FieldKind::kText, false, 0, kNoteMax},
};

const SignalRule* RuleOf(std::string_view type) {
  const auto rule = std::ranges::find(kRules, type, &SignalRule::type);
  return rule == std::end(kRules) ? nullptr : rule;
}

std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::optional<std::string> FaultOf(const FieldSpec& field, const Value& value) {
  switch (field.kind) {
    case FieldKind::kText: {
      if (value.kind() != Value::Kind::kText) return "must be text";
      const std::size_t length = Characters(value.text());
      if (length < field.min || length > field.max) {
        return "must have " + std::to_string(field.min) + " to " + std::to_string(field.max) +
               " characters, has " + std::to_string(length);
      }
      return std::nullopt;
    }
    case FieldKind::kFlag:
      if (value.kind() != Value::Kind::kBool) return "must be true or false";
      return std::nullopt;
    case FieldKind::kMap:
      if (value.kind() != Value::Kind::kMap) return "must be an object";
      return std::nullopt;
    case FieldKind::kLevel: {
      static constexpr std::string_view kLevels[] = {"INFO", "WARNING", "CRITICAL", "P1"};
      const bool known = value.kind() == Value::Kind::kText &&
                         std::ranges::find(kLevels, value.text()) != std::end(kLevels);
      if (!known) return "must be INFO, WARNING, CRITICAL or P1";
      return std::nullopt;
    }
  }
  return std::nullopt;
}

void CheckOverride(const Value& payload, std::vector<Fault>& faults) {
  const Value override = payload.Get("override");
  if (override.kind() != Value::Kind::kMap) return;
  for (const ValueMember& member : override.members()) {
    if (member.first != "inputs" && member.first != "result") {
      faults.push_back(
          {"/override/" + member.first, "is unknown; known members are inputs and result"});
    }
  }
  if (override.members().empty()) faults.push_back({"/override", "must have inputs or a result"});
}

Result<Value> CheckPayload(const SignalRequest& request) {
  if (request.payload.size() > kSignalBytesMax) {
    return Error{ErrorCode::kSignalInvalidPayload,
                 "the payload has " + std::to_string(request.payload.size()) +
                     " bytes; the limit is " + std::to_string(kSignalBytesMax),
                 {}};
  }
  auto payload = ValueFromJson(request.payload.empty() ? "{}" : request.payload);
  if (!payload) {
    return Error{ErrorCode::kSignalInvalidPayload, payload.error().message, payload.error().faults};
  }
  Error error{ErrorCode::kSignalInvalidPayload, "invalid payload for " + request.type, {}};
  if (payload->kind() != Value::Kind::kMap) {
    error.faults.push_back({"", "must be an object"});
    return error;
  }
  for (const ValueMember& member : payload->members()) {
    const auto field = std::ranges::find_if(kFields, [&](const FieldSpec& spec) {
      return spec.type == request.type && spec.name == member.first;
    });
    if (field == std::end(kFields)) {
      error.faults.push_back({"/" + member.first, "is not a member of " + request.type});
    } else if (const auto fault = FaultOf(*field, member.second)) {
      error.faults.push_back({"/" + member.first, *fault});
    }
  }
  for (const FieldSpec& field : kFields) {
    if (field.type == request.type && field.required && payload->Get(field.name).undefined()) {
      error.faults.push_back({"/" + std::string(field.name), "is required"});
    }
  }
  CheckOverride(*payload, error.faults);
  if (!error.faults.empty()) return error;
  return payload;
}

int RankOf(std::string_view role) {
  static constexpr std::string_view kRanks[] = {"Viewer", "Operator", "Engineer", "Admin"};
  const auto rank = std::ranges::find(kRanks, role);
  return rank == std::end(kRanks) ? -1 : static_cast<int>(rank - kRanks);
}

// The lowest of the actor's roles that suffices; empty if none does.
std::string EffectiveRole(const SignalRule& rule, const std::vector<std::string>& roles) {
  std::string best;
  for (const std::string& role : roles) {
    const bool suffices =
        rule.role == "System" ? role == "System" : RankOf(role) >= RankOf(rule.role);
    if (suffices && (best.empty() || RankOf(role) < RankOf(best))) best = role;
  }
  return best;
}

struct Decision {
  std::string decision;
  std::string code;
  std::string reason;
  std::string role;
  bool needs_approval = false;
};

std::string RecordOf(const SignalRequest& request, const SignalOrder& order,
                     const Decision& decision, Timestamp now, Random& random) {
  std::string record;
  JsonWriter json(record);
  json.BeginObject();
  json.Member("signalId", order.signal_id);
  json.Member("signalType", order.type);
  json.RawMember("signalPayload", ToJson(order.payload));
  json.Member("signalDecisionId", NewUuid(random));
  json.Member("decision", decision.decision);
  if (!decision.reason.empty()) json.Member("reason", decision.reason);
  json.Member("policyDecisionId", NewUuid(random));
  json.Key("audit");
  json.BeginObject();
  json.Member("actorId", request.actor.id.empty() ? "unknown" : request.actor.id);
  json.Member("actorRole", decision.role);
  json.Member("tenantId", request.tenant_id);
  json.Member("timestamp", FormatTimestamp(now));
  if (!order.reason.empty()) json.Member("reason", order.reason);
  if (!request.actor.source_ip.empty()) json.Member("sourceIp", request.actor.source_ip);
  json.EndObject();
  json.Member("engineProcessedAt", FormatTimestamp(now));
  json.Key("engineResult");
  json.BeginObject();
  json.Member("status", decision.code.empty() ? "success" : "failure");
  if (!decision.code.empty()) json.Member("errorCode", decision.code);
  json.EndObject();
  if (decision.needs_approval) json.Member("approvalRequired", true);
  if (!request.approved_by.empty()) {
    json.Member("approvedBy", request.approved_by);
    json.Member("approvalTimestamp", FormatTimestamp(now));
  }
  json.EndObject();
  return record;
}

std::string LeastRole(const std::vector<std::string>& roles) {
  // The vocabulary of the record has no Viewer; Operator is the lowest role it can name.
  return roles.empty() || roles.front() == "Viewer" ? "Operator" : roles.front();
}

}  // namespace

std::span<const SignalRule> SignalRules() { return kRules; }

Result<SignalVerdict> JudgeSignal(const SignalRequest& request,
                                  const std::vector<std::string>& to_approve, Timestamp now,
                                  Random& random) {
  const SignalRule* rule = RuleOf(request.type);
  if (rule == nullptr) {
    std::string known;
    for (const SignalRule& each : kRules) known.append(known.empty() ? "" : ", ").append(each.type);
    return Error{ErrorCode::kSignalInvalidPayload,
                 "unknown signal \"" + request.type + "\"; known signals are " + known,
                 {}};
  }
  if (!request.signal_id.empty() && !IsIdentifier(request.signal_id)) {
    return Error{ErrorCode::kSignalInvalidPayload,
                 "signalId must be letters, digits and . _ : - (at most 128)",
                 {}};
  }
  auto payload = CheckPayload(request);
  if (!payload) return std::move(payload).error();
  SignalVerdict verdict;
  verdict.destructive = rule->destructive;
  SignalOrder& order = verdict.order;
  order.signal_id = request.signal_id.empty() ? NewUuid(random) : request.signal_id;
  order.type = request.type;
  order.payload = std::move(*payload);
  order.reason = request.reason;
  const Value reason = order.payload.Get("reason");
  if (order.reason.empty() && reason.kind() == Value::Kind::kText) order.reason = reason.text();

  Decision decision;
  decision.decision = "ACCEPTED";
  decision.role = EffectiveRole(*rule, request.actor.roles);
  if (decision.role.empty()) {
    decision = {"REJECTED", "AUTHZ_DENIED",
                request.type + " needs the role " + std::string(rule->role),
                LeastRole(request.actor.roles)};
  } else if (rule->destructive && order.reason.empty()) {
    decision.decision = "REJECTED";
    decision.code = "AUTHZ_REASON_REQUIRED";
    decision.reason = request.type + " needs a reason for the audit record";
  } else if (std::ranges::find(to_approve, request.type) != to_approve.end() &&
             (request.approved_by.empty() || request.approved_by == request.actor.id)) {
    decision.decision = "REVISION_REQUIRED";
    decision.code = "APPROVAL_REQUIRED";
    decision.reason = request.type + " needs the approval of a second person";
    decision.needs_approval = true;
  }
  verdict.allowed = decision.decision == "ACCEPTED";
  verdict.decision = decision.decision;
  verdict.code = decision.code;
  verdict.reason = decision.reason;
  order.record = RecordOf(request, order, decision, now, random);
  return verdict;
}

SignalDecision RepeatOf(const std::string& signal_id, const RunProgress::Decided& decided) {
  return {signal_id, decided.decision, decided.code, decided.reason, true, {}, decided.seq.value()};
}

std::string RejectedRecord(const SignalRequest& request, const SignalOrder& order,
                           const OrderRefusal& refusal, Timestamp now, Random& random) {
  const SignalRule& rule = *RuleOf(order.type);
  Decision decision{"REJECTED", std::string(Name(refusal.code)), refusal.message,
                    EffectiveRole(rule, request.actor.roles)};
  if (decision.role.empty()) decision.role = LeastRole(request.actor.roles);
  return RecordOf(request, order, decision, now, random);
}

}  // namespace everstep
