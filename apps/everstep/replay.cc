#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "commands.h"
#include "event_printer.h"
#include "output.h"
#include "snapshot_text.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"to", OptionKind::kCount, "SEQ", "the runSeq of the event", "", {}, true},
    {"around", OptionKind::kCount, "N", "how many events to print before and after it", "3"},
    kOutputOption,
    kWaitOption,
};

std::string JsonOf(const RunSnapshot& snapshot, const std::vector<LogEvent>& events) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.RawMember("snapshot", ToJson(snapshot));
  json.Key("events");
  json.BeginArray();
  for (const LogEvent& event : events) json.Raw(event.json);
  json.EndArray();
  json.EndObject();
  return text;
}

void WriteText(const RunSnapshot& snapshot, const std::vector<LogEvent>& events, std::uint64_t at,
               Output& out) {
  const Look& look = out.look();
  out.Write(SnapshotText(snapshot, look));
  const auto print = [&](std::string_view heading, auto&& is_part) {
    EventPrinter printer(OutputForm::kTable, true, out);
    bool any = false;
    for (const LogEvent& event : events) {
      if (!is_part(event.run_seq)) continue;
      if (!any) out.Write("\n" + look.Paint(Colour::kBold, heading) + "\n");
      any = true;
      printer.Print(event);
    }
    if (any) printer.Finish();
  };
  print("Up to here", [at](std::uint64_t seq) { return seq <= at; });
  print("Then", [at](std::uint64_t seq) { return seq > at; });
}

ExitCode OnLog(const LogCall& call) {
  const std::uint64_t at = call.arguments.Number("to");
  const std::uint64_t around = std::min<std::uint64_t>(call.arguments.Number("around"), 1'000);
  const std::string& run_id = call.arguments.operands().front();
  const auto snapshot = call.store.Snapshot(run_id, at);
  if (!snapshot) return Fail(snapshot.error(), call.out);
  EventRequest request;
  request.run_id = run_id;
  request.after = at > around + 1 ? at - around - 1 : 0;
  request.until = at + around;
  request.limit = 2 * around + 2;
  const auto page = call.store.Read(request);
  if (!page) return Fail(page.error(), call.out);
  const OutputForm form = FormOf(call.arguments);
  if (form == OutputForm::kTable) {
    WriteText(*snapshot, page->events, at, call.out);
  } else {
    WriteDocument(form, JsonOf(*snapshot, page->events), call.out);
  }
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{nullptr, OnLog};

}  // namespace

const Command kReplay{
    "replay",
    "RUN",
    1,
    1,
    "Show the state of a run at any of its events, and the events around it.",
    "The state is computed again from the log; nothing is executed.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
