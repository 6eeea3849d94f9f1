// Dead letters: events that could not be delivered to a sink.

#include <string>

#include "base/json.h"
#include "base/value.h"
#include "bus_commands.h"
#include "commands.h"
#include "data_folder.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kShowOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                       kCaFileOption, kOutputOption};
constexpr OptionSpec kRunOption{"run", OptionKind::kText, "RUN", "only those of this run"};
constexpr OptionSpec kTypeOption{"type", OptionKind::kText, "TYPE", "only events of this type"};
constexpr OptionSpec kReasonOption{"reason", OptionKind::kText, "TEXT",
                                   "only those whose reason contains this"};
constexpr OptionSpec kAllOption{"all", OptionKind::kSwitch, "", "all dead letters of the sink"};
constexpr OptionSpec kDryOption{"dry-run", OptionKind::kSwitch, "",
                                "only print how many it would be"};
constexpr OptionSpec kListOptions[] = {
    kFolderOption, kServerOption, kTokenFileOption,
    kCaFileOption, kRunOption,    kTypeOption,
    kReasonOption, kOutputOption, {"limit", OptionKind::kCount, "N", "at most this many", "100"},
};
constexpr OptionSpec kReplayOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    kRunOption,
    kTypeOption,
    kReasonOption,
    kAllOption,
    kDryOption,
    {"rate", OptionKind::kCount, "N", "at most this many per second; 0: no limit", "0"},
};
constexpr OptionSpec kPurgeOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                        kCaFileOption, kRunOption,    kTypeOption,
                                        kReasonOption, kAllOption,    kDryOption};

std::string PathOf(const Arguments& arguments) {
  return "/v1/sinks/" + EncodeForUrl(arguments.operands().front()) + "/dead-letters";
}

std::string Text(const Value& record, std::string_view name) {
  const Value value = record.Get(name);
  return value.undefined() ? std::string("-") : ToText(value);
}

ExitCode List(const Arguments& arguments, Output& out) {
  QueryWriter query;
  query.Add("runId", arguments.Text("run"));
  query.Add("eventType", arguments.Text("type"));
  query.Add("reason", arguments.Text("reason"));
  query.Add("limit", arguments.Number("limit"));
  const auto answer = AskServer(arguments, {.path = PathOf(arguments) + query.text()});
  if (!answer) return Fail(answer.error(), out);
  if (const OutputForm form = FormOf(arguments); form != OutputForm::kTable) {
    WriteDocument(form, *answer, out);
    return ExitCode::kOk;
  }
  const auto document = ValueFromJson(*answer);
  if (!document) return Fail(document.error(), out);
  Table table({"LETTER", "EVENT", "DIED", "ATTEMPTS", "REASON"});
  const Value letters = document->Get("deadLetters");
  for (const Value& letter : letters.list()) {
    table.Add({Text(letter, "letterId"), Text(letter, "eventType"), Text(letter, "diedAt"),
               letter.Get("attempts").undefined() ? "held" : Text(letter, "attempts"),
               Text(letter, "reason")});
  }
  out.Write(table.TakeText(out.look()));
  return ExitCode::kOk;
}

ExitCode Show(const Arguments& arguments, Output& out) {
  const auto answer = AskServer(
      arguments, {.path = PathOf(arguments) + "/" + EncodeForUrl(arguments.operands()[1])});
  if (!answer) return Fail(answer.error(), out);
  const OutputForm form = FormOf(arguments);
  WriteDocument(form == OutputForm::kTable ? OutputForm::kYaml : form, *answer, out);
  return ExitCode::kOk;
}

// Requires an explicit choice: leaving out arguments must not send or purge all dead letters.
bool IsChosen(const Arguments& arguments) {
  return arguments.Has("all") || arguments.operands().size() > 1 || arguments.Has("run") ||
         arguments.Has("type") || arguments.Has("reason");
}

std::string BodyOf(const Arguments& arguments, std::uint64_t rate) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  if (arguments.operands().size() > 1) {
    json.Key("ids");
    json.BeginArray();
    for (std::size_t i = 1; i < arguments.operands().size(); ++i) {
      json.String(arguments.operands()[i]);
    }
    json.EndArray();
  }
  if (arguments.Has("run")) json.Member("runId", arguments.Text("run"));
  if (arguments.Has("type")) json.Member("eventType", arguments.Text("type"));
  if (arguments.Has("reason")) json.Member("reason", arguments.Text("reason"));
  if (rate > 0) json.Member("perSecond", rate);
  if (arguments.Has("dry-run")) json.Member("dryRun", true);
  json.EndObject();
  return body;
}

ExitCode Order(const Arguments& arguments, Output& out, const char* path, std::uint64_t rate,
               const char* done) {
  if (!IsChosen(arguments)) {
    return FailUsage(arguments.command(),
                     "choose dead letters: LETTER..., --run, --type, --reason or --all", out);
  }
  const auto answer = AskServer(
      arguments,
      {.method = "POST", .path = PathOf(arguments) + path, .body = BodyOf(arguments, rate)});
  if (!answer) return Fail(answer.error(), out);
  const auto count = ValueFromJson(*answer);
  if (!count) return Fail(count.error(), out);
  const Value letters = count->Get("deadLetters");
  const auto number =
      letters.kind() == Value::Kind::kInt ? static_cast<std::uint64_t>(letters.int_value()) : 0;
  out.Write(CountText(number, "dead letter", "dead letters") +
            (arguments.Has("dry-run") ? " would be " : " ") + done + "\n");
  return ExitCode::kOk;
}

ExitCode ReplayLetters(const Arguments& arguments, Output& out) {
  return Order(arguments, out, "/replay", arguments.Number("rate"), "sent again");
}
ExitCode PurgeLetters(const Arguments& arguments, Output& out) {
  return Order(arguments, out, "/purge", 0, "purged");
}

}  // namespace

const Command kDlqList{
    "dlq list",
    "SINK",
    1,
    1,
    "List the dead letters of a sink: events that could not be delivered.",
    "ATTEMPTS is 'held' for events that are held back by an earlier dead letter of their run.",
    kListOptions,
    List,
};
const Command kDlqShow{
    "dlq show", "SINK LETTER", 2,    2, "Show a dead letter and what would be sent.",
    "",         kShowOptions,  Show,
};
const Command kDlqReplay{
    "dlq replay",
    "SINK [LETTER...]",
    1,
    1'001,
    "Send dead letters again.",
    "Returns at once; 'outbox' shows the progress. If the sink holds back later events, the\n"
    "letters of a run are sent together, in order. A letter that fails again stays a dead letter.",
    kReplayOptions,
    ReplayLetters,
};
const Command kDlqPurge{
    "dlq purge",   "SINK [LETTER...]", 1, 1'001, "Remove dead letters without sending them.", "",
    kPurgeOptions, PurgeLetters,
};

}  // namespace everstep::cli
