#include "work/local_tool_box.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "work/echo_tool.h"
#include "work/http_tool.h"
#include "work/merge_tool.h"
#include "work/noop_tool.h"
#include "work/python_tool.h"
#include "work/shell_tool.h"
#include "work/sleep_tool.h"
#include "work/sqlite_tool.h"
#include "work/task_secrets.h"

namespace everstep {
namespace {

TaskOutcome NoSuchTool(const std::string& kind) {
  TaskOutcome outcome;
  outcome.succeeded = false;
  outcome.error_code = "TOOL_UNKNOWN";
  outcome.error_message = "the tool '" + kind + "' does not exist here or is not enabled";
  outcome.category = "PLATFORM";
  return outcome;
}

}  // namespace

LocalToolBox::LocalToolBox(LocalToolBoxOptions options, Clock& clock)
    : options_(std::move(options)),
      artifacts_(options_.tools.artifact_directory),
      record_(artifacts_, options_.tools.inline_bytes_max) {
  AddImmediate(std::make_unique<NoopTool>());
  AddImmediate(std::make_unique<EchoTool>());
  AddImmediate(std::make_unique<MergeTool>());
  Add<SleepTool>("sleep");
  const ToolOptions& tools = options_.tools;
  HttpToolOptions http;
  http.slots = tools.http_slots;
  http.addresses.allow_private = tools.allow_private_addresses;
  http.proxies = tools.http_proxies;
  http.inline_bytes_max = tools.inline_bytes_max;
  Add<HttpTool>("http", http, artifacts_, clock);
  const std::string scratch = options_.scratch_directory.empty()
                                  ? tools.artifact_directory + "/scratch"
                                  : options_.scratch_directory;
  // Remove what a killed process left behind.
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  artifacts_.RemoveUnfinished();
  ShellToolOptions shell;
  shell.slots = tools.shell_slots;
  shell.environment = options_.environment;
  shell.scratch_directory = scratch;
  shell.grace = options_.stop_grace;
  shell.inline_bytes_max = tools.inline_bytes_max;
  Add<ShellTool>("shell", std::move(shell), artifacts_);
  PythonToolOptions python;
  python.slots = tools.python_slots;
  python.environment = options_.environment;
  python.scratch_directory = scratch;
  Add<PythonTool>("python", std::move(python), artifacts_);
  Add<SqliteTool>("sqlite", SqliteToolOptions{tools.sqlite_slots});
}

LocalToolBox::~LocalToolBox() {
  // The destructor of a tool returns after all its calls have been reported.
  tools_.clear();
  const std::lock_guard lock(mutex_);
  EVERSTEP_ASSERT(running_.empty());
}

void LocalToolBox::AddImmediate(std::unique_ptr<ImmediateTool> tool) {
  std::string kind(tool->kind());
  if (Enabled(kind)) immediate_.emplace(std::move(kind), std::move(tool));
}

template <typename T, typename... Arguments>
void LocalToolBox::Add(std::string_view kind, Arguments&&... arguments) {
  if (!Enabled(kind)) return;
  tools_.emplace(kind, std::make_unique<T>(std::forward<Arguments>(arguments)...));
}

bool LocalToolBox::Enabled(std::string_view kind) const {
  const auto& enabled = options_.tools.enabled;
  return enabled.empty() || std::find(enabled.begin(), enabled.end(), kind) != enabled.end();
}

bool LocalToolBox::Has(std::string_view kind) const {
  return immediate_.contains(kind) || tools_.contains(kind);
}

bool LocalToolBox::Immediate(std::string_view kind) const { return immediate_.contains(kind); }

std::uint32_t LocalToolBox::Slots(std::string_view kind) const {
  const auto found = tools_.find(kind);
  return found == tools_.end() ? 0 : found->second->slots();
}

std::vector<std::string> LocalToolBox::Kinds() const {
  std::vector<std::string> kinds;
  for (const auto& [kind, tool] : immediate_) kinds.push_back(kind);
  for (const auto& [kind, tool] : tools_) kinds.push_back(kind);
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

TaskOutcome LocalToolBox::RunNow(const Task& task) {
  const auto found = immediate_.find(task.kind);
  if (found == immediate_.end()) return NoSuchTool(task.kind);
  return record_.Of(found->second->Run(task), SecretMask());
}

void LocalToolBox::Start(Task task, TaskReports& reports) {
  const TaskId id = task.id;
  const auto found = tools_.find(task.kind);
  if (found == tools_.end()) return reports.Finished(id, RunNow(task));
  Report report{++calls_, id, &reports, nullptr};
  auto call = Prepare(std::move(task), report.call);
  if (!call) {
    const bool secret = call.error().code == ErrorCode::kSecretUnavailable;
    ToolOutcome failed =
        secret ? ToolOutcome::Failure("SECRET_UNAVAILABLE", call.error().message, false, "USER")
               : ToolOutcome::BadInput(call.error().message);
    return reports.Finished(id, record_.Of(std::move(failed), SecretMask()));
  }
  report.mask = call->mask;
  call->beat = [&reports, id] { reports.Heartbeat(id); };
  Tool& tool = *found->second;
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = running_.emplace(id, Running{.call = report.call, .tool = &tool}).second;
    EVERSTEP_ASSERT(is_new);
  }
  tool.Start(*std::move(call),
             [this, report](ToolOutcome outcome) { Finish(report, std::move(outcome)); });
  Running running;
  {
    const std::lock_guard lock(mutex_);
    const auto place = running_.find(id);
    if (place == running_.end() || place->second.call != report.call) return;
    place->second.started = true;
    running = place->second;
  }
  if (running.cancel) tool.Cancel(running.call, running.force);
}

void LocalToolBox::Cancel(const TaskId& task, bool force) {
  Running running;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(task);
    if (found == running_.end()) return;
    found->second.cancel = true;
    found->second.force = found->second.force || force;
    running = found->second;
  }
  if (running.started) running.tool->Cancel(running.call, force);
}

Result<ToolCall> LocalToolBox::Prepare(Task task, CallId id) const {
  auto inputs = ValueFromJson(task.inputs.empty() ? "{}" : task.inputs);
  if (!inputs) return inputs.error();
  auto secrets = ReadSecrets(task, options_.secrets.get());
  if (!secrets) return std::move(secrets).error();
  ToolCall call;
  call.id = id;
  call.inputs = *std::move(inputs);
  if (!secrets->values.empty()) {
    call.inputs = PutSecrets(call.inputs, task.secret_prefix, secrets->values);
  }
  call.mask = std::move(secrets->mask);
  task.inputs.clear();
  call.task = std::move(task);
  return call;
}

void LocalToolBox::Finish(const Report& report, ToolOutcome outcome) {
  TaskOutcome recorded = record_.Of(std::move(outcome), *report.mask);
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(report.task);
    EVERSTEP_ASSERT(found != running_.end() && found->second.call == report.call);
    running_.erase(found);
  }
  report.reports->Finished(report.task, std::move(recorded));
}

}  // namespace everstep
