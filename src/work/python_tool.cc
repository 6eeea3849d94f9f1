#include "work/python_tool.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/encoding.h"
#include "work/inputs.h"
#include "work/kept_files.h"
#include "work/program_environment.h"
#include "work/scratch_directory.h"

namespace everstep {
namespace {

constexpr std::int64_t kPrintedBytesMax = 16 << 20;
constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kMessageBytes = 8192;
constexpr std::size_t kTracebackBytes = 16'384;

std::string Tail(const std::string& text, std::size_t bytes_max) {
  return ValidUtf8(text.substr(text.size() - std::min(text.size(), bytes_max)));
}

std::string Printed(const Value& frame, std::string_view name) {
  const Value text = frame.Get(name);
  return text.kind() == Value::Kind::kText ? text.text() : std::string();
}

}  // namespace

struct PythonTool::Job {
  ValueMap task;  // the frame for the interpreter
  std::string cwd;
  std::optional<Milliseconds> timeout;
  std::size_t capture = 0;  // limit for each stream
};

std::string PythonTool::MaskedPrint(const ToolCall& call, const Job& job, const Value& frame,
                                    std::string_view name) {
  const std::string text = Printed(frame, name);
  return text.size() >= job.capture ? call.mask->MaskCut(text)
                                    : call.mask->Mask(std::string_view(text));
}

PythonTool::PythonTool(PythonToolOptions options, const ArtifactStore& artifacts)
    : options_(std::move(options)),
      artifacts_(artifacts),
      threads_(options_.slots == 0 ? 64 : options_.slots) {}

PythonTool::~PythonTool() { calls_.StopAll(); }

void PythonTool::Start(ToolCall call, Done done) {
  Inputs inputs(call.inputs);
  inputs.AllowOnly({"code", "file", "args", "cwd", "timeout", "maxOutputBytes"});
  const auto code = inputs.Text("code");
  const auto file = inputs.Text("file");
  if (code.has_value() == file.has_value()) {
    inputs.Fault("code, file", "exclude each other; give exactly one of them");
  }
  const Value args = inputs.Has("args") ? inputs.Get("args") : Value::Map(ValueMap());
  if (args.kind() != Value::Kind::kMap) inputs.Fault("args", "must be a map");
  Job job;
  job.cwd = inputs.Text("cwd", "");
  job.timeout = inputs.Duration("timeout");
  if (call.task.timeout && (!job.timeout || *call.task.timeout < *job.timeout)) {
    job.timeout = call.task.timeout;
  }
  const std::int64_t capture = inputs.Int("maxOutputBytes", 1 << 20, 0, kPrintedBytesMax);
  if (!inputs.ok()) return done(ToolOutcome::BadInput(inputs.faults()));
  job.capture = static_cast<std::size_t>(capture);
  const Task& task = call.task;
  job.task = {
      {file ? "file" : "code", Value::Text(file ? *file : *code)},
      {"args", args},
      {"capture", Value::Int(capture)},
      {"env", Value::Map(ValueMap{
                  {"EVERSTEP_RUN_ID", Value::Text(task.id.run_id.value())},
                  {"EVERSTEP_STEP_ID", Value::Text(task.id.step_id)},
                  {"EVERSTEP_ATTEMPT", Value::Text(std::to_string(task.id.logical_attempt))},
                  {"EVERSTEP_IDEMPOTENCY_KEY", Value::Text(task.idempotency_key)}})}};
  auto stop = calls_.Open(call.id);
  threads_.Run([this, call = std::move(call), job = std::move(job), stop = std::move(stop),
                done = std::move(done)] {
    ToolOutcome outcome = stop->asked() ? ToolOutcome::Cancelled() : Run(call, job, *stop);
    calls_.Close(call.id);
    done(std::move(outcome));
  });
}

ToolOutcome PythonTool::Run(const ToolCall& call, const Job& job, StopRequest& stop) {
  std::optional<ScratchDirectory> scratch;
  std::string cwd = job.cwd;
  if (cwd.empty()) {
    auto made = ScratchDirectory::Make(options_.scratch_directory);
    if (!made) return ToolOutcome::Failure("PYTHON_UNAVAILABLE", made.error().message, true);
    scratch.emplace(*std::move(made));
    cwd = scratch->path();
  }
  std::string problem;
  auto interpreter = Take(call.task, problem);
  if (interpreter == nullptr) {
    return ToolOutcome::Failure("PYTHON_UNAVAILABLE", problem, false, "PLATFORM");
  }
  ValueMap task = job.task;
  task.emplace_back("cwd", Value::Text(cwd));
  PythonInterpreter::Deadline deadline;
  if (job.timeout) deadline = SteadyNow() + *job.timeout;
  const auto answer = interpreter->Run(Value::Map(std::move(task)), deadline, stop, call.beat);
  switch (answer.end) {
    case PythonInterpreter::End::kStopped:
      return ToolOutcome::Cancelled();
    case PythonInterpreter::End::kTimedOut:
      return ToolOutcome::TimedOut(*job.timeout);
    case PythonInterpreter::End::kCrashed:
      return ToolOutcome::Failure("PYTHON_CRASHED", answer.message, true);
    case PythonInterpreter::End::kAnswered:
      break;
  }
  if (answer.frame.Get("dirty").undefined()) GiveBack(call.task, std::move(interpreter));
  ToolOutcome outcome = Answered(call, job, answer.frame);
  auto kept = KeepFiles(cwd, call.task.artifacts, artifacts_);
  if (kept) {
    outcome.artifacts.insert(outcome.artifacts.end(), kept->begin(), kept->end());
  } else if (outcome.succeeded) {
    outcome = ToolOutcome::Failure("ARTIFACT_FAILED", kept.error().message,
                                   kept.error().code != ErrorCode::kInvalidArgument);
  }
  return outcome;
}

ToolOutcome PythonTool::Answered(const ToolCall& call, const Job& job, const Value& frame) const {
  if (frame.Get("ok") == Value::Bool(true)) {
    ToolOutcome outcome = ToolOutcome::Success(frame.Get("value"));
    KeepPrinted(call, job, frame, outcome);
    return outcome;
  }
  // Mask before truncating: a truncated secret would not be found.
  const auto shown = [&](const char* name) {
    return call.mask->Mask(std::string_view(Printed(frame, name)));
  };
  const std::string type = shown("type");
  const std::string message = ValidUtf8(shown("message").substr(0, kMessageBytes));
  if (type.empty()) return ToolOutcome::Failure("PYTHON_RESULT", message, false, "USER");
  ToolOutcome outcome = ToolOutcome::Failure(
      "PYTHON_EXCEPTION", message.empty() ? type : type + ": " + message, true, "USER");
  ValueMap details = {{"type", Value::Text(type)},
                      {"message", Value::Text(message)},
                      {"traceback", Value::Text(Tail(shown("traceback"), kTracebackBytes))}};
  for (const char* name : {"stdout", "stderr"}) {
    std::string text = Tail(MaskedPrint(call, job, frame, name), kTailBytes);
    if (!text.empty()) details.emplace_back(name, Value::Text(std::move(text)));
  }
  outcome.details = Value::Map(std::move(details));
  return outcome;
}

void PythonTool::KeepPrinted(const ToolCall& call, const Job& job, const Value& frame,
                             ToolOutcome& outcome) const {
  for (const char* name : {"stdout", "stderr"}) {
    const std::string text = MaskedPrint(call, job, frame, name);
    if (text.empty()) continue;
    auto stored = artifacts_.Write(text, {name, "text/plain", ""});
    if (!stored) {
      outcome = ToolOutcome::Failure("ARTIFACT_FAILED", stored.error().message, true);
      return;
    }
    outcome.artifacts.push_back(*std::move(stored));
  }
}

std::unique_ptr<PythonInterpreter> PythonTool::Take(const Task& task, std::string& problem) {
  std::unique_ptr<PythonInterpreter> to_end;  // destroyed outside the lock, since that blocks
  {
    const std::lock_guard lock(mutex_);
    const auto ours = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) {
      return idle.tenant == task.scope.tenant_id;
    });
    if (ours != idle_.rend()) {
      auto interpreter = std::move(ours->interpreter);
      idle_.erase(std::next(ours).base());
      return interpreter;
    }
    if (!idle_.empty() && idle_.size() >= options_.slots) {
      to_end = std::move(idle_.front().interpreter);
      idle_.erase(idle_.begin());
    }
  }
  to_end.reset();
  const std::string path = FindProgram("python3", ProgramPath(options_.environment), "");
  if (path.empty()) {
    problem = "there is no python3 in PATH";
    return nullptr;
  }
  int reason = 0;
  auto interpreter =
      PythonInterpreter::Start(path, ProgramEnvironment(options_.environment, task, {}), reason);
  if (interpreter == nullptr) problem = path + ": " + std::strerror(reason);
  return interpreter;
}

void PythonTool::GiveBack(const Task& task, std::unique_ptr<PythonInterpreter> interpreter) {
  if (interpreter->tasks() >= options_.tasks_per_interpreter) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back({task.scope.tenant_id, std::move(interpreter)});
}

}  // namespace everstep
