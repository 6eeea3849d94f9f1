#include <cstdio>
#include <string>
#include <string_view>

#include "commands.h"
#include "event_printer.h"
#include "event_reading.h"
#include "everstep/log.h"
#include "interrupt.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kReadable[] = {"native", "contract", "devkit",
                                          "noetl",  "elephant", "cloudevents"};
constexpr std::string_view kForms[] = {"ndjson", "json", "yaml", "table"};
constexpr OptionSpec kOptions[] = {
    kStoreOption,
    {"dialect", OptionKind::kWord, "NAME",
     "native, contract, devkit, noetl, elephant or cloudevents", "native", kReadable},
    {"after", OptionKind::kCount, "SEQ", "only events after this runSeq", "0"},
    {"until", OptionKind::kCount, "SEQ", "only events up to this runSeq"},
    {"type", OptionKind::kText, "NAME", "only events of this type, by its native name"},
    {"entity", OptionKind::kText, "KIND/ID", "only events of this entity, such as step/charge"},
    {"limit", OptionKind::kCount, "N",
     "at most this many events [default: all; 10000 with --since]"},
    {"since", OptionKind::kMoment, "TIME",
     "without RUN: events of all runs persisted since then (5m, or 2026-02-11T10:30:00Z)"},
    {"tenant", OptionKind::kText, "ID", "with --since: the tenant of the runs", "default"},
    {"follow", OptionKind::kSwitch, "", "keep printing events as they become durable"},
    {"until-end", OptionKind::kSwitch, "", "follow until the run has ended"},
    {"batch-array", OptionKind::kSwitch, "", "one JSON array (the CloudEvents batch format)"},
    {"output", OptionKind::kWord, "FORM",
     "ndjson, json, yaml or table [default: table on a terminal, else ndjson]", "", kForms},
};

OutputForm ReadForm(const Arguments& arguments, const Look& look) {
  if (arguments.Has("batch-array")) return OutputForm::kJson;
  if (arguments.Has("output")) return FormOf(arguments);
  return look.is_terminal ? OutputForm::kTable : OutputForm::kNdjson;
}

// Returns a message if options contradict each other, otherwise an empty string.
std::string Contradiction(const Arguments& arguments, OutputForm form) {
  const bool has_run = !arguments.operands().empty();
  const bool follows = arguments.Has("follow") || arguments.Has("until-end");
  if (has_run == arguments.Has("since")) return "name a RUN, or give --since TIME for all runs";
  if (follows && !has_run) return "--follow needs a RUN";
  if (follows && (form == OutputForm::kJson || form == OutputForm::kYaml)) {
    return "--follow has no end, so --output must be ndjson or table";
  }
  if (arguments.Has("batch-array") && arguments.Has("output")) {
    return "--batch-array sets the output form; leave out --output";
  }
  if (arguments.Has("entity") && arguments.Text("entity").find('/') == std::string::npos) {
    return "--entity takes KIND/ID, such as step/charge-card";
  }
  for (const std::string_view option : {"after", "until", "type", "entity"}) {
    if (!has_run && arguments.Has(option)) return "--" + std::string(option) + " needs a RUN";
  }
  return {};
}

EventRequest RequestOf(const Arguments& arguments) {
  EventRequest request;
  request.run_id = arguments.operands().front();
  request.dialect = *DialectNamed(arguments.Text("dialect"));
  request.after = arguments.Number("after");
  if (arguments.Has("until")) request.until = arguments.Number("until");
  request.event_type = arguments.Text("type");
  if (const std::string& entity = arguments.Text("entity"); !entity.empty()) {
    const std::size_t slash = entity.find('/');
    request.entity_kind = entity.substr(0, slash);
    request.entity_id = entity.substr(slash + 1);
  }
  return request;
}

Status ReadAllRuns(const Arguments& arguments, OutputForm form, Log& log, Output& out) {
  constexpr std::uint64_t kLimit = 10'000;
  const std::uint64_t limit = arguments.Has("limit") ? arguments.Number("limit") : kLimit;
  const Dialect dialect = *DialectNamed(arguments.Text("dialect"));
  const auto events =
      log.ReadSince(arguments.Moment("since"), arguments.Text("tenant"), dialect, limit);
  if (!events) return events.error();
  EventPrinter printer(form, dialect == Dialect::kNative, out);
  for (const LogEvent& event : *events) printer.Print(event);
  printer.Finish();
  if (events->size() >= limit) {
    std::fprintf(stderr, "everstep: there may be more events; stopped at --limit %llu\n",
                 static_cast<unsigned long long>(limit));
  }
  return Ok();
}

Status ReadRun(const Arguments& arguments, OutputForm form, Log& log, Output& out) {
  EventReading::Range range;
  range.request = RequestOf(arguments);
  if (arguments.Has("limit")) range.limit = arguments.Number("limit");
  range.until_end = arguments.Has("until-end");
  range.follow = arguments.Has("follow") || range.until_end;
  return EventReading(range, form, log, out).Run();
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const OutputForm form = ReadForm(arguments, out.look());
  if (const std::string fault = Contradiction(arguments, form); !fault.empty()) {
    return FailUsage(arguments.command(), fault);
  }
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  const Status read = arguments.operands().empty() ? ReadAllRuns(arguments, form, **log, out)
                                                   : ReadRun(arguments, form, **log, out);
  if (!read) {
    out.Flush();
    return Fail(read.error());
  }
  return Interrupted() ? ExitCode::kInterrupted : ExitCode::kOk;
}

}  // namespace

const Command kLogRead{
    "log read",
    "[RUN]",
    0,
    1,
    "Print the events of a run, or with --since those of all runs, in any dialect.",
    "Can be used while another process writes to the store. Events that the dialect cannot\n"
    "express are left out.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
