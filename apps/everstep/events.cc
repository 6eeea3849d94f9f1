#include <string>
#include <string_view>

#include "base/value.h"
#include "commands.h"
#include "event_reading.h"
#include "output.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kDialects[] = {"native", "contract", "devkit",
                                          "noetl",  "elephant", "cloudevents"};
constexpr std::string_view kForms[] = {"ndjson", "json", "yaml", "table"};
constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"follow", OptionKind::kSwitch, "", "keep printing events as they become durable"},
    {"until-end", OptionKind::kSwitch, "", "follow until the run has ended"},
    {"dialect", OptionKind::kWord, "NAME",
     "native, contract, devkit, noetl, elephant or cloudevents", "native", kDialects},
    {"type", OptionKind::kText, "NAME", "only events of this type, by its native name"},
    {"entity", OptionKind::kText, "KIND/ID", "only events of this entity, such as step/charge"},
    {"after", OptionKind::kCount, "SEQ", "only events after this runSeq", "0"},
    {"until", OptionKind::kCount, "SEQ", "only events up to this runSeq"},
    {"limit", OptionKind::kCount, "N", "at most this many events [default: all]"},
    {"output", OptionKind::kWord, "FORM",
     "ndjson, json, yaml or table [default: table on a terminal, else ndjson]", "", kForms},
    kWaitOption,
};

ExitCode OnLog(const LogCall& call) {
  const Arguments& arguments = call.arguments;
  EventReading::Range range;
  range.until_end = arguments.Has("until-end");
  range.follow = arguments.Has("follow") || range.until_end;
  if (arguments.Has("limit")) range.limit = arguments.Number("limit");
  const OutputForm otherwise =
      call.out.look().is_terminal ? OutputForm::kTable : OutputForm::kNdjson;
  const OutputForm form = arguments.Has("output") ? FormOf(arguments) : otherwise;
  if (range.follow && (form == OutputForm::kJson || form == OutputForm::kYaml)) {
    return FailUsage(arguments.command(),
                     "--follow has no end, so --output must be ndjson or table", call.out);
  }
  EventRequest& request = range.request;
  request.run_id = arguments.operands().front();
  request.dialect = *DialectNamed(arguments.Text("dialect"));
  request.after = arguments.Number("after");
  if (arguments.Has("until")) request.until = arguments.Number("until");
  request.event_type = arguments.Text("type");
  if (const std::string& entity = arguments.Text("entity"); !entity.empty()) {
    const std::size_t slash = entity.find('/');
    if (slash == std::string::npos) {
      return FailUsage(arguments.command(), "--entity takes KIND/ID, such as step/charge-card",
                       call.out);
    }
    request.entity_kind = entity.substr(0, slash);
    request.entity_id = entity.substr(slash + 1);
  }
  // Another process has already printed the events up to here.
  if (const auto body = ValueFromJson(call.body.empty() ? "{}" : call.body)) {
    const Value after = body->Get("after");
    if (after.kind() == Value::Kind::kInt) {
      request.after = static_cast<std::uint64_t>(after.int_value());
    }
  }
  const Status read = EventReading(range, form, call.store, call.out).Run();
  if (call.out.interrupts() > 0) return ExitCode::kInterrupted;
  return read ? ExitCode::kOk : Fail(read.error(), call.out);
}

constexpr StoreCommand kOnStore{nullptr, OnLog};

}  // namespace

const Command kEvents{
    "events",
    "RUN",
    1,
    1,
    "Print the events of a run, in any dialect, and follow them.",
    "Events that the dialect cannot express are left out. If the server goes away, the command\n"
    "waits for it for up to a minute; no event is missed or printed twice.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
