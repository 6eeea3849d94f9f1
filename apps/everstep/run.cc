#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "actor.h"
#include "commands.h"
#include "output.h"
#include "progress.h"
#include "run_drawing.h"
#include "run_order.h"
#include "run_watch.h"
#include "store_access.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kRunsAtOnce = 1'000;
constexpr int kIdsTried = 100;

constexpr std::string_view kForms[] = {"table", "json"};
constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"input", OptionKind::kList, "NAME=VALUE", "an input of the plan; any number of times"},
    {"input-file", OptionKind::kText, "FILE", "inputs as a JSON object; --input takes precedence"},
    {"run-id", OptionKind::kText, "ID", "the run [default: derived from plan and inputs]"},
    {"new", OptionKind::kSwitch, "", "start a new run instead of resuming one"},
    {"watch", OptionKind::kSwitch, "", "show progress (the default)"},
    {"no-watch", OptionKind::kSwitch, "", "print only the outcome"},
    kTenantOption,
    {"project", OptionKind::kText, "ID", "the project", "default"},
    {"environment", OptionKind::kText, "ID", "the environment", "default"},
    {"priority", OptionKind::kText, "N", "overrides the priority of the plan; larger is first"},
    {"output", OptionKind::kWord, "FORM", "table, or json: the events, one per line", "table",
     kForms},
    kWaitOption,
};

std::string QuotedWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the command line that resumes the run: the same one, without --new.
std::string ResumeCommand(const Arguments& arguments, const std::string& run_id) {
  std::string text = "everstep run";
  for (const std::string& word : arguments.words()) {
    if (word != "--new") text += " " + QuotedWord(word);
  }
  const bool names_run = arguments.Has("run-id") || !arguments.Has("new");
  return names_run ? text : text + " --run-id " + run_id;
}

std::optional<std::uint64_t> NumberAfter(std::string_view run_id, std::string_view stem) {
  if (!run_id.starts_with(stem) || !run_id.substr(stem.size()).starts_with('-')) return {};
  const std::string_view digits = run_id.substr(stem.size() + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return number;
}

class Running {
 public:
  Running(const EngineCall& call, RunOrder order) : call_(call), order_(std::move(order)) {}

  ExitCode Run() {
    const auto after = StartOrGoOn();
    if (!after) return everstep::cli::Fail(after.error(), call_.out);
    // A process that takes over continues this run and does not resume it if it is paused.
    RunOrder rest = order_;
    rest.plan.clear();
    rest.fresh = false;
    rest.wake = false;
    call_.out.Remember(rest.ToJson());
    const auto progress = MakeProgress();
    if (!said_.empty()) progress->Say(said_);
    RunWatch watch(call_.store,
                   {order_.run_id, call_.arguments.Text("tenant"), *after,
                    ResumeCommand(call_.arguments, order_.run_id),
                    call_.Hint("approve " + order_.run_id), call_.alerts, !call_.visits},
                   *progress, call_.out);
    const auto code = watch.Follow();
    if (code) return *code;
    const ExitCode failed = everstep::cli::Fail(code.error(), call_.out);
    if (failed == ExitCode::kUnavailable) {
      call_.out.WriteError(order_.run_id + " remains on the server; to watch it again: " +
                           ResumeCommand(call_.arguments, order_.run_id) + "\n");
    }
    return failed;
  }

 private:
  // Returns the runSeq after which events are shown.
  Result<std::uint64_t> StartOrGoOn() {
    if (order_.run_id.empty()) {
      const auto found = FindOrName();
      if (!found) return found.error();
    }
    const auto existing = call_.store.log().Snapshot(order_.run_id);
    if (existing) return GoOn(*existing);
    if (existing.error().code != ErrorCode::kRunNotFound) return existing.error();
    return Start();
  }

  // Chooses the newest run of this plan with these inputs, or the next id if that has ended.
  Status FindOrName() {
    RunFilter filter;
    filter.tenant_id = call_.arguments.Text("tenant");
    filter.plan_id = order_.plan_id;
    filter.limit = kRunsAtOnce;
    do {
      const auto page = call_.store.log().Runs(filter);
      if (!page) return page.error();
      for (const RunSummary& run : page->runs) {
        const auto number = NumberAfter(run.run_id, order_.stem);
        if (!number) continue;
        const bool goes_on = !order_.fresh && !HasEnded(run.status);
        Name(goes_on ? *number : *number + 1);
        return Ok();
      }
      filter.cursor = page->cursor;
    } while (!filter.cursor.empty());
    Name(1);
    return Ok();
  }

  void Name(std::uint64_t number) {
    number_ = number;
    order_.run_id = order_.stem + "-" + std::to_string(number);
  }

  Result<std::uint64_t> GoOn(const RunSnapshot& snapshot) {
    if (HasEnded(snapshot.status)) {
      said_ = order_.run_id + " had already ended";
      return snapshot.last_event_seq;
    }
    said_ = "continuing with " + order_.run_id;
    if (snapshot.status != "PAUSED" || !order_.wake) return snapshot.last_event_seq;
    SignalRequest request;
    request.run_id = order_.run_id;
    request.tenant_id = call_.arguments.Text("tenant");
    request.type = "RESUME";
    request.actor = LocalActor("Admin");
    const auto decision = call_.store.Signal(request);
    if (!decision) return decision.error();
    if (decision->decision != "ACCEPTED") {
      return Error{ErrorCode::kInvalidTransition,
                   "RESUME was refused: " + decision->code + " " + decision->reason,
                   {}};
    }
    return snapshot.last_event_seq;
  }

  Result<std::uint64_t> Start() {
    if (call_.elsewhere) {
      if (const Status fit = order_.CheckForServer(); !fit) return fit.error();
    }
    auto named = StartRequestOf(call_.arguments);
    if (!named) return std::move(named).error();
    StartRequest request = *std::move(named);
    request.plan = order_.plan;
    request.plan_uri = order_.uri;
    request.inputs = order_.inputs;
    // The ids of removed runs stay reserved for a while.
    for (int tried = 0;; ++tried) {
      request.run_id = order_.run_id;
      const auto started = call_.store.Start(request);
      if (started) {
        order_.run_id = started->run_id;
        return std::uint64_t{0};
      }
      const ErrorCode code = started.error().code;
      const bool is_taken = code == ErrorCode::kRunExpired || code == ErrorCode::kRunAlreadyExists;
      if (!is_taken || number_ == 0 || tried == kIdsTried) return started.error();
      Name(number_ + 1);
    }
  }

  std::unique_ptr<Progress> MakeProgress() {
    std::string deliver = call_.Hint("deliver");
    Output& out = call_.out;
    if (FormOf(call_.arguments) == OutputForm::kJson) return MakeEventProgress(out);
    if (call_.arguments.Has("no-watch")) return MakeQuietProgress(out);
    if (out.look().is_terminal) return MakeLiveProgress(std::move(deliver), out);
    return MakeLineProgress(std::move(deliver), out);
  }

  const EngineCall& call_;
  RunOrder order_;
  std::uint64_t number_ = 0;  // in the generated id; 0: the id was given
  std::string said_;
};

Result<std::string> Prepare(const Arguments& arguments) {
  if (arguments.Has("watch") && arguments.Has("no-watch")) {
    return Error{ErrorCode::kInvalidArgument, "--watch and --no-watch contradict each other", {}};
  }
  if (arguments.Has("new") && arguments.Has("run-id")) {
    return Error{ErrorCode::kInvalidArgument, "--new generates the run id; leave out --run-id", {}};
  }
  auto order = RunOrder::Of(arguments);
  if (!order) return order.error();
  order->fresh = arguments.Has("new");
  return order->ToJson();
}

ExitCode OnEngine(const EngineCall& call) {
  auto order = RunOrder::FromJson(call.body);
  if (!order) return Fail(order.error(), call.out);
  return Running(call, *std::move(order)).Run();
}

constexpr StoreCommand kOnStore{Prepare, nullptr, OnEngine, true};

}  // namespace

const Command kRun{
    "run",
    "FILE",
    1,
    1,
    "Run a plan to its end and show its progress.",
    "Running the same command again resumes the run if it has not ended: its id is derived from\n"
    "the plan and its inputs. Ctrl-C pauses the run after its running steps; a second one\n"
    "cancels it. Other unfinished runs of the data folder continue meanwhile. If another process\n"
    "has the folder open, that process runs the plan and this one shows it; with --server, the\n"
    "server runs it.\n\n"
    "If the server goes away, the command waits for it for up to a minute and then shows the run\n"
    "from where it was.\n\n"
    "Exits with 0 COMPLETED, 1 FAILED or refused, 8 CANCELLED, 9 PAUSED, 10 server unavailable,\n"
    "11 not allowed by the server.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
