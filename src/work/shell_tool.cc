#include "work/shell_tool.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/encoding.h"
#include "work/inputs.h"
#include "work/kept_files.h"
#include "work/program_environment.h"

namespace everstep {
namespace {

constexpr std::int64_t kOutputBytesMax = 64 << 20;
constexpr std::size_t kTailBytes = 4096;  // per stream, in the details of a failure
constexpr int kShellNotFound = 127;

std::string_view Tail(std::string_view text) {
  return text.substr(text.size() - std::min(text.size(), kTailBytes));
}

bool IsDirectory(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace

struct ShellTool::Command {
  ChildProgram program;
  bool shell = false;  // the input is `command`, not `argv`
  std::string input;
  CommandLimits limits;
  bool parse_json = false;
  std::vector<std::int64_t> no_retry;

  static Command Read(Inputs& inputs, const Task& task);
};

ShellTool::Command ShellTool::Command::Read(Inputs& inputs, const Task& task) {
  inputs.AllowOnly({"argv", "command", "env", "cwd", "stdin", "timeout", "maxOutputBytes", "parse",
                    "noRetryExitCodes"});
  Command command;
  command.program.arguments = inputs.Texts("argv");
  const auto text = inputs.Text("command");
  command.shell = text.has_value();
  if (inputs.Has("argv") == command.shell) {
    inputs.Fault("argv, command", "exclude each other; give exactly one of them");
  }
  if (text) command.program.arguments = {"/bin/sh", "-c", *text};
  if (command.program.arguments.empty()) {
    inputs.Fault("argv", "must name a program");
  } else if (command.program.arguments.front().empty()) {
    inputs.Fault("argv", "must begin with the name of a program");
  }
  const auto has_nul = [](const std::string& t) { return t.find('\0') != std::string::npos; };
  if (std::any_of(command.program.arguments.begin(), command.program.arguments.end(), has_nul)) {
    inputs.Fault("argv", "must not contain NUL characters");
  }
  for (const auto& [name, value] : inputs.Pairs("env")) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name + value)) {
      inputs.Fault("env", "'" + name + "' is not a valid variable");
    }
  }
  command.program.directory = inputs.Text("cwd", "");
  if (!command.program.directory.empty() && !IsDirectory(command.program.directory)) {
    inputs.Fault("cwd", "is not a directory: " + command.program.directory);
  }
  if (const Value input = inputs.Get("stdin"); !input.undefined()) command.input = ToText(input);
  command.limits.timeout = inputs.Duration("timeout");
  if (task.timeout && (!command.limits.timeout || *task.timeout < *command.limits.timeout)) {
    command.limits.timeout = task.timeout;
  }
  command.limits.output_bytes_max =
      static_cast<std::size_t>(inputs.Int("maxOutputBytes", 4 << 20, 0, kOutputBytesMax));
  const std::string parse = inputs.Text("parse", "none");
  if (parse != "json" && parse != "none") inputs.Fault("parse", "must be json or none");
  command.parse_json = parse == "json";
  command.no_retry = inputs.Ints("noRetryExitCodes");
  return command;
}

ShellTool::ShellTool(ShellToolOptions options, const ArtifactStore& artifacts)
    : options_(std::move(options)),
      artifacts_(artifacts),
      threads_(options_.slots == 0 ? 256 : options_.slots) {}

ShellTool::~ShellTool() { calls_.StopAll(); }

void ShellTool::Start(ToolCall call, Done done) {
  Inputs inputs(call.inputs);
  Command command = Command::Read(inputs, call.task);
  if (!inputs.ok()) return done(ToolOutcome::BadInput(inputs.faults()));
  command.limits.grace = options_.grace;
  command.program.environment =
      ProgramEnvironment(options_.environment, call.task, inputs.Pairs("env"));
  auto stop = calls_.Open(call.id);
  threads_.Run([this, call = std::move(call), command = std::move(command), stop = std::move(stop),
                done = std::move(done)]() mutable {
    ToolOutcome outcome =
        stop->asked() ? ToolOutcome::Cancelled() : Run(call, std::move(command), *stop);
    calls_.Close(call.id);
    done(std::move(outcome));
  });
}

ToolOutcome ShellTool::Run(const ToolCall& call, Command command, StopRequest& stop) {
  std::optional<ScratchDirectory> scratch;
  if (command.program.directory.empty()) {
    auto made = ScratchDirectory::Make(options_.scratch_directory);
    if (!made) return ToolOutcome::Failure("COMMAND_FAILED", made.error().message, true);
    scratch.emplace(*std::move(made));
    command.program.directory = scratch->path();
  }
  const std::string& name = command.program.arguments.front();
  command.program.path =
      FindProgram(name, ProgramPath(options_.environment), command.program.directory);
  if (command.program.path.empty()) {
    return ToolOutcome::Failure("COMMAND_NOT_FOUND", "there is no program '" + name + "'", false,
                                "USER");
  }
  int reason = 0;
  auto child = ChildProcess::Start(command.program, reason);
  if (!child) {
    return ToolOutcome::Failure("COMMAND_FAILED", name + ": " + std::strerror(reason),
                                reason == EAGAIN || reason == ENOMEM || reason == EMFILE);
  }
  CommandOutcome ended =
      RunCommand(*std::move(child), command.input, command.limits, stop, call.beat);
  return Outcome(call, command, std::move(ended));
}

ToolOutcome ShellTool::Outcome(const ToolCall& call, const Command& command,
                               CommandOutcome ended) const {
  for (CapturedText* text : {&ended.output, &ended.errors}) {
    text->bytes = text->truncated ? call.mask->MaskCut(text->bytes)
                                  : call.mask->Mask(std::string_view(text->bytes));
  }
  ToolOutcome outcome;
  ValueMap members = {{"exitCode", Value::Int(ended.number)}};
  const bool exited = ended.end == CommandOutcome::End::kExited;
  if (!exited || ended.number != 0) outcome = Failure(command, ended);
  if (command.parse_json && outcome.succeeded) {
    auto json = ValueFromJson(ended.output.bytes);
    if (json) {
      members.emplace_back("json", *std::move(json));
    } else {
      outcome = ToolOutcome::Failure("BAD_OUTPUT", "stdout: " + json.error().message, false);
    }
  }
  AddOutput("stdout", ended.output, members, outcome);
  AddOutput("stderr", ended.errors, members, outcome);
  if (ended.end != CommandOutcome::End::kStopped) {
    auto kept = KeepFiles(command.program.directory, call.task.artifacts, artifacts_);
    if (kept) {
      outcome.artifacts.insert(outcome.artifacts.end(), kept->begin(), kept->end());
    } else if (outcome.succeeded) {
      outcome = ToolOutcome::Failure("ARTIFACT_FAILED", kept.error().message,
                                     kept.error().code != ErrorCode::kInvalidArgument);
    }
  }
  if (outcome.succeeded) outcome.result = Value::Map(std::move(members));
  return outcome;
}

ToolOutcome ShellTool::Failure(const Command& command, const CommandOutcome& ended) const {
  ToolOutcome outcome;
  ValueMap details;
  const std::string number = std::to_string(ended.number);
  switch (ended.end) {
    case CommandOutcome::End::kStopped:
      outcome = ToolOutcome::Cancelled();
      break;
    case CommandOutcome::End::kTimedOut:
      outcome = ToolOutcome::TimedOut(*command.limits.timeout);
      break;
    case CommandOutcome::End::kSignalled:
      outcome = ToolOutcome::Failure("SIGNALLED", "ended by signal " + number, true);
      details.emplace_back("signal", Value::Int(ended.number));
      break;
    case CommandOutcome::End::kExited: {
      const auto& codes = command.no_retry;
      const bool missing = command.shell && ended.number == kShellNotFound;
      const bool retry = std::find(codes.begin(), codes.end(), ended.number) == codes.end();
      outcome =
          ToolOutcome::Failure(missing ? "COMMAND_NOT_FOUND" : "EXIT_STATUS", "exit code " + number,
                               retry && !missing, missing ? "USER" : "SYSTEM");
      outcome.permanent = !retry;
      details.emplace_back("exitCode", Value::Int(ended.number));
      break;
    }
  }
  details.emplace_back("stdout", Value::Text(ValidUtf8(Tail(ended.output.bytes))));
  details.emplace_back("stderr", Value::Text(ValidUtf8(Tail(ended.errors.bytes))));
  outcome.details = Value::Map(std::move(details));
  return outcome;
}

void ShellTool::AddOutput(const std::string& name, const CapturedText& text, ValueMap& members,
                          ToolOutcome& outcome) const {
  // Both streams, with JSON quoting, should fit into an inline result.
  const std::size_t inline_max = options_.inline_bytes_max * 3 / 8;
  members.emplace_back(
      name, Value::Text(ValidUtf8(
                std::string_view(text.bytes).substr(0, std::min(text.bytes.size(), inline_max)))));
  if (text.truncated) members.emplace_back(name + "Truncated", Value::Bool(true));
  if (text.bytes.size() <= inline_max) return;
  auto stored = artifacts_.Write(text.bytes, {name, "text/plain", ""});
  if (stored) {
    members.emplace_back(name + "Artifact", stored->InResult());
    outcome.artifacts.push_back(*std::move(stored));
  } else if (outcome.succeeded) {
    outcome = ToolOutcome::Failure("ARTIFACT_FAILED", stored.error().message, true);
  }
}

}  // namespace everstep
