// The sinks of a server: their definitions and progress.

#include <string>

#include "base/value.h"
#include "bus_commands.h"
#include "commands.h"
#include "data_folder.h"
#include "plan_file.h"
#include "table.h"

namespace everstep::cli {

Result<std::string> AskServer(const Arguments& arguments, const ApiClient::Call& call) {
  auto server = FindServer(arguments);
  if (!server) return std::move(server).error();
  if (!*server) {
    return Error{ErrorCode::kInvalidArgument,
                 "sinks belong to a server; name it with --server or EVERSTEP_SERVER",
                 {}};
  }
  if (const Status fit = CheckUrl((*server)->url); !fit) return fit.error();
  ApiClient api(**std::move(server));
  return api.Send(call);
}

namespace {

constexpr OptionSpec kAsking[] = {kFolderOption, kServerOption, kTokenFileOption, kCaFileOption};
constexpr OptionSpec kShowing[] = {kFolderOption, kServerOption, kTokenFileOption, kCaFileOption,
                                   kOutputOption};
constexpr OptionSpec kOutboxOptions[] = {
    kFolderOption,    kServerOption,
    kTokenFileOption, kCaFileOption,
    kOutputOption,    {"limit", OptionKind::kCount, "N", "at most this many events", "20"},
};

std::string PathOf(const Arguments& arguments) {
  return "/v1/sinks/" + EncodeForUrl(arguments.operands().front());
}

std::string Text(const Value& record, std::string_view name) {
  const Value value = record.Get(name);
  return value.undefined() ? std::string("-") : ToText(value);
}

void WriteSinks(const Value& sinks, Output& out) {
  Table table(
      {"SINK", "KIND", "STATE", "POSITION", "LAG", "AGE MS", "DELIVERED", "DEAD", "LAST FAILURE"});
  for (const Value& sink : sinks.list()) {
    table.Add({Text(sink, "sinkId"), Text(sink.Get("definition"), "kind"), Text(sink, "state"),
               Text(sink, "position"), Text(sink, "lag"), Text(sink, "ageMs"),
               Text(sink, "delivered"), Text(sink, "deadLetters"), Text(sink, "lastFailure")});
  }
  out.Write(table.TakeText(out.look()));
}

void WritePending(const Value& events, Output& out) {
  Table table({"EVENT", "PERSISTED", "TOPIC", "ID"});
  for (const Value& event : events.list()) {
    const Value message = event.Get("messages").At(0);
    table.Add({Text(event, "letterId"), Text(event, "persistedAt"), Text(message, "topic"),
               Text(message, "id")});
  }
  out.Write(table.TakeText(out.look()));
}

ExitCode Outbox(const Arguments& arguments, Output& out) {
  const bool one = !arguments.operands().empty();
  const auto answer = AskServer(
      arguments, {.path = one ? PathOf(arguments) +
                                    "/outbox?limit=" + std::to_string(arguments.Number("limit"))
                              : std::string("/v1/sinks")});
  if (!answer) return Fail(answer.error(), out);
  if (const OutputForm form = FormOf(arguments); form != OutputForm::kTable) {
    WriteDocument(form, *answer, out);
    return ExitCode::kOk;
  }
  const auto document = ValueFromJson(*answer);
  if (!document) return Fail(document.error(), out);
  if (one) {
    WritePending(document->Get("events"), out);
  } else {
    WriteSinks(document->Get("sinks"), out);
  }
  return ExitCode::kOk;
}

ExitCode Set(const Arguments& arguments, Output& out) {
  const auto text = ReadWholeFile(arguments.operands()[1]);
  if (!text) return Fail(text.error(), out);
  const auto answer = AskServer(arguments, {.method = "PUT",
                                            .path = PathOf(arguments),
                                            .body = *text,
                                            .content_type = "application/yaml"});
  if (!answer) return Fail(answer.error(), out);
  const auto sink = ValueFromJson(*answer);
  if (!sink) return Fail(sink.error(), out);
  out.Write(Printable(Text(*sink, "sinkId")) + " is " + Text(*sink, "state") + " at position " +
            Text(*sink, "position") + "\n");
  return ExitCode::kOk;
}

ExitCode Show(const Arguments& arguments, Output& out) {
  const auto answer = AskServer(arguments, {.path = PathOf(arguments)});
  if (!answer) return Fail(answer.error(), out);
  const OutputForm form = FormOf(arguments);
  WriteDocument(form == OutputForm::kTable ? OutputForm::kYaml : form, *answer, out);
  return ExitCode::kOk;
}

ExitCode Order(const Arguments& arguments, Output& out, ApiClient::Call call, const char* done) {
  const auto answer = AskServer(arguments, call);
  if (!answer) return Fail(answer.error(), out);
  out.Write(Printable(arguments.operands().front()) + " " + done + "\n");
  return ExitCode::kOk;
}

ExitCode Remove(const Arguments& arguments, Output& out) {
  return Order(arguments, out, {.method = "DELETE", .path = PathOf(arguments)}, "is removed");
}
ExitCode Pause(const Arguments& arguments, Output& out) {
  return Order(arguments, out, {.method = "POST", .path = PathOf(arguments) + "/pause"},
               "is paused");
}
ExitCode Resume(const Arguments& arguments, Output& out) {
  return Order(arguments, out, {.method = "POST", .path = PathOf(arguments) + "/resume"},
               "is resumed");
}

}  // namespace

const Command kOutbox{
    "outbox",
    "[SINK]",
    0,
    1,
    "Show the progress of all sinks, or the pending events of one.",
    "LAG counts the entries of the outbox after the position of the sink, AGE MS is the age of\n"
    "the oldest. With SINK: the first events that are not yet delivered, and where they go.",
    kOutboxOptions,
    Outbox,
};
const Command kSinkSet{
    "sink set",
    "SINK FILE",
    2,
    2,
    "Create a sink, or change one, which keeps its position.",
    "FILE is YAML or JSON, - is standard input; docs/sinks.md describes the members.",
    kAsking,
    Set,
};
const Command kSinkShow{
    "sink show", "SINK", 1, 1, "Show the definition and the state of a sink.", "", kShowing, Show,
};
const Command kSinkPause{
    "sink pause", "SINK", 1, 1, "Pause a sink; it keeps its position.", "", kAsking, Pause,
};
const Command kSinkResume{
    "sink resume", "SINK", 1, 1, "Resume a sink that is paused or disabled.", "", kAsking, Resume,
};
const Command kSinkRemove{
    "sink remove", "SINK", 1, 1, "Remove a sink, its position and its dead letters.", "",
    kAsking,       Remove,
};

}  // namespace everstep::cli
