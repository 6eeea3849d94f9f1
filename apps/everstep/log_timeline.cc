#include <string>
#include <vector>

#include "commands.h"
#include "everstep/log.h"
#include "native_event.h"
#include "output.h"
#include "store_access.h"
#include "timeline.h"

namespace everstep::cli {
namespace {

constexpr std::uint64_t kLimitMax = 10'000;
constexpr OptionSpec kOptions[] = {
    kStoreOption,
    {"after", OptionKind::kCount, "SEQ", "only events after this runSeq", "0"},
    {"limit", OptionKind::kCount, "N", "at most this many events, up to 10000", "500"},
    {"ascii", OptionKind::kSwitch, "", "draw with ASCII characters only"},
};

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::uint64_t limit = arguments.Number("limit");
  if (limit == 0 || limit > kLimitMax) {
    return FailUsage(arguments.command(), "--limit takes 1 to " + std::to_string(kLimitMax));
  }
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  EventRequest request;
  request.run_id = arguments.operands().front();
  request.after = arguments.Number("after");
  request.limit = limit;
  const auto snapshot = (*log)->Snapshot(request.run_id);
  if (!snapshot) return Fail(snapshot.error());
  const auto page = (*log)->Read(request);
  if (!page) return Fail(page.error());
  std::vector<NativeEvent> events;
  for (const LogEvent& event : page->events) events.push_back(ReadNative(event));
  Look look = out.look();
  look.utf8 = look.utf8 && !arguments.Has("ascii");
  out.Write(TimelineText(*snapshot, events, look));
  if (page->more) {
    out.Write("more with --after " + std::to_string(page->next_after) + "\n");
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kLogTimeline{
    "log timeline",
    "RUN",
    1,
    1,
    "Draw a run: when each thing happened, to what, and how long it took.",
    "Times are those that the writers of the events recorded (emittedAt).",
    kOptions,
    Run,
};

}  // namespace everstep::cli
