#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/timestamp.h"
#include "commands.h"
#include "everstep/log.h"
#include "native_event.h"
#include "output.h"
#include "snapshot_text.h"
#include "timeline.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    {"store", OptionKind::kText, "DIR", "where to write [default: a new temporary directory]"},
    {"ascii", OptionKind::kSwitch, "", "draw with ASCII characters only"},
};

constexpr std::string_view kRun = "order-1042";

// An event of the sample run. The contract dialect has no waits and hooks, so those are native.
struct Scene {
  int at_ms;
  Dialect dialect;
  std::string_view type;
  std::string_view entity;
  int attempt = 1;
  std::string_view payload = {};
};

constexpr Scene kScenes[] = {
    {0, Dialect::kContract, "RunQueued", ""},
    {40, Dialect::kContract, "RunStarted", "", 1, R"({"engineType":"everstep"})"},
    {60, Dialect::kContract, "StepStarted", "reserve-stock"},
    {410, Dialect::kContract, "StepCompleted", "reserve-stock", 1,
     R"({"artifacts":[{"uri":"s3://shop/reservation-77.json","kind":"reservation"}]})"},
    {450, Dialect::kContract, "StepStarted", "charge-card"},
    {1650, Dialect::kContract, "StepFailed", "charge-card", 1,
     R"({"errorCode":"GATEWAY_TIMEOUT","errorMessage":"no answer in 1.2 s","retryable":true,)"
     R"("willRetry":true})"},
    {1660, Dialect::kNative, "WaitCreated", "backoff"},
    {2660, Dialect::kNative, "WaitCompleted", "backoff"},
    {2700, Dialect::kContract, "StepStarted", "charge-card", 2},
    {3050, Dialect::kContract, "StepCompleted", "charge-card", 2},
    {3100, Dialect::kNative, "HookCreated", "approval", 1, R"({"token":"approve-order-1042"})"},
    {4700, Dialect::kNative, "HookReceived", "approval", 1, R"({"payload":{"approved":true}})"},
    {4750, Dialect::kContract, "StepStarted", "ship"},
    {5180, Dialect::kContract, "StepCompleted", "ship"},
    {5230, Dialect::kContract, "RunCompleted", ""},
};

std::string EventOf(const Scene& scene, std::size_t number, SystemTime begin) {
  const SystemTime at = begin + std::chrono::milliseconds(scene.at_ms);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("eventId", "demo-" + std::to_string(number));
  json.Member("eventType", scene.type);
  json.Member("runId", kRun);
  if (!scene.entity.empty()) {
    json.Member(scene.type.starts_with("Step") ? "stepId" : "correlationId", scene.entity);
  }
  json.Member("tenantId", "default");
  json.Member("projectId", "shop");
  json.Member("environmentId", "production");
  json.Member("planId", "fulfil-order");
  json.Member("planVersion", "7");
  json.Member("engineAttemptId", std::uint64_t{1});
  json.Member("logicalAttemptId", static_cast<std::uint64_t>(scene.attempt));
  json.Member("emittedAt", FormatTimestamp(at));
  if (scene.type == "WaitCreated") {
    json.RawMember("payload",
                   "{\"dueAt\":\"" + FormatTimestamp(at + std::chrono::seconds(1)) + "\"}");
  } else if (!scene.payload.empty()) {
    json.RawMember("payload", scene.payload);
  }
  json.EndObject();
  return text;
}

Result<std::string> DirectoryOf(const Arguments& arguments) {
  if (arguments.Has("store")) return arguments.Text("store");
  std::string path = std::filesystem::temp_directory_path() / "everstep-demo-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::kStoreIo, "cannot make a temporary directory " + path, {}};
  }
  return path + "/store";
}

// Appends every scene. Returns the last event as it was written.
Result<std::string> Play(Log& log) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const SystemTime begin = now - std::chrono::milliseconds(std::end(kScenes)[-1].at_ms);
  std::string event;
  std::size_t number = 0;
  for (const Scene& scene : kScenes) {
    event = EventOf(scene, ++number, begin);
    const auto appended = log.Append(scene.dialect, event);
    if (!appended) return appended.error();
  }
  return event;
}

class Show {
 public:
  Show(Log& log, Look look, Output& out) : log_(log), look_(look), out_(out) {}

  void Heading(std::string_view text) {
    out_.Write("\n" + look_.Paint(Colour::kBold, text) + "\n");
  }

  Status Timeline(const RunSnapshot& snapshot) {
    EventRequest request;
    request.run_id = kRun;
    const auto page = log_.Read(request);
    if (!page) return page.error();
    std::vector<NativeEvent> events;
    for (const LogEvent& event : page->events) events.push_back(ReadNative(event));
    out_.Write(TimelineText(snapshot, events, look_));
    return Ok();
  }

  Status Repetition(const std::string& last_event) {
    const auto again = log_.Append(Dialect::kContract, last_event);
    if (!again) return again.error();
    out_.Write("RunCompleted again: runSeq " + std::to_string(again->run_seq) + ", idempotent " +
               (again->idempotent ? "true" : "false") + ": the log still has " +
               std::to_string(again->run_seq) + " events\n");
    return Ok();
  }

  Status InDevkitDialect() {
    EventRequest request;
    request.run_id = kRun;
    request.dialect = Dialect::kDevkit;
    const auto page = log_.Read(request);
    if (!page) return page.error();
    for (const LogEvent& event : page->events) {
      const bool shown =
          event.type == "StepFailed" || event.type == "HookCreated" || event.type == "RunCompleted";
      if (shown) out_.Write(Shortened(Printable(event.json), look_.columns, look_) + "\n");
    }
    return Ok();
  }

  void NextCommands(const std::string& directory) {
    const std::string program = Printable(program_invocation_name) + " log ";
    const std::string store = " --store " + Printable(directory) + "\n";
    const std::string run(kRun);
    out_.Write(program + "read " + run + " --dialect noetl" + store);
    out_.Write(program + "snapshot " + run + " --at 6 --output yaml" + store);
    out_.Write(program + "runs" + store);
    out_.Write(program + "verify" + store);
  }

 private:
  Log& log_;
  const Look look_;
  Output& out_;
};

Status Perform(Log& log, const std::string& directory, Look look, Output& out) {
  Show show(log, look, out);
  auto last_event = Play(log);
  if (!last_event) return std::move(last_event).error();
  const auto snapshot = log.Snapshot(kRun);
  if (!snapshot) return snapshot.error();

  out.Write(std::to_string(std::size(kScenes)) +
            " events of a sample run, each durable before it " + "was acknowledged, are in\n" +
            Printable(directory) + "\n");
  show.Heading("What happened");
  if (Status drawn = show.Timeline(*snapshot); !drawn) return drawn;
  show.Heading("The resulting state");
  out.Write(SnapshotText(*snapshot, look));
  show.Heading("Repeating an append changes nothing");
  if (Status repeated = show.Repetition(*last_event); !repeated) return repeated;
  show.Heading("The same log in the dialect of Workflow DevKit");
  if (Status read = show.InDevkitDialect(); !read) return read;
  show.Heading("Commands to continue with");
  show.NextCommands(directory);
  return Ok();
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto directory = DirectoryOf(arguments);
  if (!directory) return Fail(directory.error());
  LogOptions options;
  options.directory = *directory;
  const auto log = Log::Open(options);
  if (!log) return Fail(log.error());
  Look look = out.look();
  look.utf8 = look.utf8 && !arguments.Has("ascii");
  const Status shown = Perform(**log, *directory, look, out);
  if (!shown) {
    out.Flush();
    return Fail(shown.error());
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kDemo{
    "demo",
    "",
    0,
    0,
    "Write a sample run to a new store and show it in several views.",
    "The store is kept; the last lines show commands to explore it.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
