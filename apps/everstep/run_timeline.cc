#include <chrono>
#include <string>
#include <vector>

#include "commands.h"
#include "gantt.h"
#include "native_event.h"
#include "output.h"
#include "store_command.h"
#include "timeline.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kPage = 10'000;
constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"events", OptionKind::kSwitch, "", "a line for each event instead of a bar for each step"},
    {"items", OptionKind::kSwitch, "", "with a bar for each iteration of a loop"},
    {"limit", OptionKind::kCount, "N", "at most this many bars or events", "200"},
    {"ascii", OptionKind::kSwitch, "", "draw with ASCII characters only"},
    kWaitOption,
};

ExitCode OnLog(const LogCall& call) {
  const Arguments& arguments = call.arguments;
  EventRequest request;
  request.run_id = arguments.operands().front();
  request.limit = kPage;
  const auto snapshot = call.store.Snapshot(request.run_id);
  if (!snapshot) return Fail(snapshot.error(), call.out);
  const bool by_event = arguments.Has("events");
  Gantt gantt(arguments.Has("items"));
  std::vector<NativeEvent> events;
  bool more = true;
  while (more && (!by_event || events.size() < arguments.Number("limit"))) {
    const auto page = call.store.Read(request);
    if (!page) return Fail(page.error(), call.out);
    for (const LogEvent& event : page->events) {
      if (!by_event) {
        gantt.Add(ReadNative(event));
      } else if (events.size() < arguments.Number("limit")) {
        events.push_back(ReadNative(event));
      }
    }
    request.after = page->next_after;
    more = page->more;
  }
  Look look = call.out.look();
  look.utf8 = look.utf8 && !arguments.Has("ascii");
  if (by_event) {
    call.out.Write(TimelineText(*snapshot, events, look));
    return ExitCode::kOk;
  }
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  call.out.Write(TimelineTitle(*snapshot, look));
  call.out.Write(gantt.Text(now, arguments.Number("limit"), look));
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{nullptr, OnLog};

}  // namespace

const Command kTimeline{
    "timeline",
    "RUN",
    1,
    1,
    "Draw a run: a bar for each step over time, with attempts and waits.",
    "",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
