#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "actor.h"
#include "base/json.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/value.h"
#include "commands.h"
#include "output.h"
#include "store_access.h"
#include "store_command.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"step", OptionKind::kText, "ID", "the step that the signal is for"},
    {"reason", OptionKind::kText, "TEXT", "the reason, for the record"},
    {"payload", OptionKind::kText, "JSON", "further members of the payload"},
    {"force", OptionKind::kSwitch, "", "RETRY_STEP, RETRY_RUN: force; EMERGENCY_STOP: forceKill"},
    {"signal-id", OptionKind::kText, "ID", "a repeated id counts once [default: a new id]"},
    {"approved-by", OptionKind::kText, "WHO", "the second person, if the signal needs one"},
    kRoleOption,
    kTenantOption,
    kOutputOption,
    kWaitOption,
};

struct SignalWords {
  std::string_view type;
  std::string_view word;  // the short name, if any
  bool takes_step;
  bool takes_reason;       // in the payload
  std::string_view force;  // the payload member for --force
};

constexpr std::array kSignals = {
    SignalWords{"PAUSE", "pause", false, true, ""},
    SignalWords{"RESUME", "resume", false, false, ""},
    SignalWords{"CANCEL", "cancel", false, true, ""},
    SignalWords{"RETRY_STEP", "retry", true, false, "force"},
    SignalWords{"SKIP_STEP", "skip", true, true, ""},
    SignalWords{"RETRY_RUN", "", false, true, "force"},
    SignalWords{"UPDATE_PARAMS", "", false, false, ""},
    SignalWords{"INJECT_OVERRIDE", "", true, false, ""},
    SignalWords{"UPDATE_TARGET", "", true, false, ""},
    SignalWords{"EMERGENCY_STOP", "", false, true, "forceKill"},
    SignalWords{"ESCALATE_ALERT", "", false, false, ""},
};

const SignalWords* SignalNamed(std::string_view text) {
  std::string upper;
  for (const char c : text) {
    upper.push_back(c == '-' ? '_'
                             : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  const auto is_named = [&upper](const SignalWords& words) {
    std::string word(words.word);
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper == words.type || (!word.empty() && upper == word);
  };
  const auto found = std::ranges::find_if(kSignals, is_named);
  return found == kSignals.end() ? nullptr : &*found;
}

Error Misused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), {}}; }

Result<std::string> PayloadOf(const Arguments& arguments, const SignalWords& words) {
  ValueMap members;
  if (arguments.Has("payload")) {
    const auto given = ValueFromJson(arguments.Text("payload"));
    if (!given || given->kind() != Value::Kind::kMap) {
      return Misused("--payload takes a JSON object");
    }
    members = given->members();
  }
  const auto put = [&members](std::string_view name, Value value) {
    if (std::ranges::find(members, name, &ValueMember::first) == members.end()) {
      members.emplace_back(name, std::move(value));
    }
  };
  if (arguments.Has("step")) {
    if (!words.takes_step) return Misused(std::string(words.type) + " does not take --step");
    put("stepId", Value::Text(arguments.Text("step")));
  }
  if (arguments.Has("reason") && words.takes_reason) {
    put("reason", Value::Text(arguments.Text("reason")));
  }
  if (arguments.Has("force")) {
    if (words.force.empty()) return Misused(std::string(words.type) + " does not take --force");
    put(words.force, Value::Bool(true));
  }
  return members.empty() ? std::string() : ToJson(Value::Map(std::move(members)));
}

// Checks the command line and chooses the signal id, so that a repetition is recognized.
Result<std::string> Prepare(const Arguments& arguments) {
  const std::string& word = arguments.operands()[1];
  const SignalWords* words = SignalNamed(word);
  if (words == nullptr) {
    std::string all;
    for (const SignalWords& known : kSignals)
      all += (all.empty() ? "" : ", ") + std::string(known.type);
    return Misused("unknown signal \"" + word + "\"; signals are " + all);
  }
  const auto payload = PayloadOf(arguments, *words);
  if (!payload) return payload.error();
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("type", words->type);
  json.Member("payload", *payload);
  json.Member("signalId",
              arguments.Has("signal-id") ? arguments.Text("signal-id") : NewUuid(SystemRandom()));
  json.EndObject();
  return text;
}

std::string DecisionJson(const SignalDecision& decision) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("signalId", decision.signal_id);
  json.Member("decision", decision.decision);
  if (!decision.code.empty()) json.Member("code", decision.code);
  if (!decision.reason.empty()) json.Member("reason", decision.reason);
  json.Member("repeated", decision.repeated);
  if (!decision.new_run_id.empty()) json.Member("newRunId", decision.new_run_id);
  json.Member("runSeq", decision.run_seq);
  json.EndObject();
  return text;
}

std::string DecisionText(const SignalRequest& request, const SignalDecision& decision,
                         const Look& look) {
  const bool is_accepted = decision.decision == "ACCEPTED";
  std::string text = request.type + " of " + Printable(request.run_id) + ": " +
                     look.Paint(is_accepted ? Colour::kGreen : Colour::kRed, decision.decision);
  if (!decision.code.empty()) text += " " + decision.code;
  if (!decision.reason.empty()) text += ": " + Printable(decision.reason);
  if (decision.repeated) text += " (already decided)";
  if (decision.run_seq > 0) text += ", event " + std::to_string(decision.run_seq);
  if (!decision.new_run_id.empty()) text += "\nnew run: " + Printable(decision.new_run_id);
  return text + "\n";
}

ExitCode OnEngine(const EngineCall& call) {
  const Arguments& arguments = call.arguments;
  const auto body = ValueFromJson(call.body);
  if (!body) return Fail(body.error(), call.out);
  SignalRequest request;
  request.run_id = arguments.operands()[0];
  request.tenant_id = arguments.Text("tenant");
  request.type = ToText(body->Get("type"));
  request.payload = ToText(body->Get("payload"));
  request.signal_id = ToText(body->Get("signalId"));
  request.reason = arguments.Text("reason");
  request.approved_by = arguments.Text("approved-by");
  request.actor = LocalActor(arguments.Text("role"));
  const auto decision = call.store.Signal(request);
  if (!decision) return Fail(decision.error(), call.out);
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    call.out.Write(DecisionText(request, *decision, call.out.look()));
  } else {
    WriteDocument(form, DecisionJson(*decision), call.out);
  }
  return decision->decision == "ACCEPTED" ? ExitCode::kOk : ExitCode::kRefused;
}

constexpr StoreCommand kOnStore{Prepare, nullptr, OnEngine};

}  // namespace

const Command kSignal{
    "signal",
    "RUN TYPE",
    2,
    2,
    "Send a signal to a run: pause, resume, cancel, retry or skip a step, and more.",
    "TYPE is pause, resume, cancel, retry (a step), skip (a step), RETRY_RUN, UPDATE_PARAMS,\n"
    "INJECT_OVERRIDE, UPDATE_TARGET, EMERGENCY_STOP or ESCALATE_ALERT, in any case. The\n"
    "decision is recorded before it takes effect. If no process has the store open, it takes\n"
    "effect when the run continues.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
