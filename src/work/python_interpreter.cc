#include "work/python_interpreter.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "work/python_worker.h"

namespace everstep {
namespace {

constexpr std::size_t kFrameBytesMax = 256 << 20;
constexpr std::size_t kLengthDigitsMax = 12;
constexpr std::size_t kPieceBytes = 64 << 10;

int WaitMilliseconds(const PythonInterpreter::Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - SteadyNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

}  // namespace

std::unique_ptr<PythonInterpreter> PythonInterpreter::Start(const std::string& path,
                                                            std::vector<std::string> environment,
                                                            int& reason) {
  ChildProgram program;
  program.path = path;
  program.arguments = {"python3", "-I", "-u", "-c", std::string(kPythonWorker)};
  program.environment = std::move(environment);
  program.directory = "/";
  auto child = ChildProcess::Start(program, reason);
  if (!child) return nullptr;
  return std::unique_ptr<PythonInterpreter>(new PythonInterpreter(*std::move(child)));
}

PythonInterpreter::Answer PythonInterpreter::Run(const Value& task, Deadline deadline,
                                                 StopRequest& stop,
                                                 const std::function<void()>& beat) {
  ++tasks_;
  const std::string json = ToJson(task);
  sending_ = std::to_string(json.size()) + "\n" + json;
  sent_ = 0;
  while (true) {
    if (stop.asked()) return {End::kStopped, {}, {}};
    if (deadline && SteadyNow() >= *deadline) return {End::kTimedOut, {}, {}};
    const short writing = sent_ < sending_.size() ? POLLOUT : 0;
    std::array<pollfd, 4> waits = {pollfd{stop.descriptor(), POLLIN, 0},
                                   pollfd{child_.output().get(), POLLIN, 0},
                                   pollfd{child_.errors().get(), POLLIN, 0},
                                   pollfd{writing != 0 ? child_.input().get() : -1, writing, 0}};
    ::poll(waits.data(), waits.size(), WaitMilliseconds(deadline));
    const bool open = Exchange();
    for (Value frame = TakeFrame(); !frame.undefined(); frame = TakeFrame()) {
      if (frame.kind() != Value::Kind::kMap) {
        return {End::kCrashed, {}, "the interpreter sent an invalid answer"};
      }
      if (!frame.Get("ok").undefined()) return {End::kAnswered, std::move(frame), {}};
      if (beat) beat();
    }
    if (!open) return Crashed();
  }
}

bool PythonInterpreter::Exchange() {
  while (sent_ < sending_.size()) {
    const ssize_t size =
        ::write(child_.input().get(), sending_.data() + sent_, sending_.size() - sent_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return false;
    sent_ += static_cast<std::size_t>(size);
  }
  std::vector<char> piece(kPieceBytes);
  // Drain the pipe. Only an interpreter that fails to start writes to stderr.
  if (child_.errors() && ::read(child_.errors().get(), piece.data(), piece.size()) == 0) {
    child_.errors().Close();
  }
  while (true) {
    const ssize_t size = ::read(child_.output().get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    received_.append(piece.data(), static_cast<std::size_t>(size));
    if (received_.size() > kFrameBytesMax + kLengthDigitsMax) return true;
  }
}

Value PythonInterpreter::TakeFrame() {
  const std::size_t line = received_.find('\n');
  if (line == std::string::npos) {
    return received_.size() > kLengthDigitsMax ? Value::Null() : Value();
  }
  std::size_t size = 0;
  const char* end = received_.data() + line;
  const auto [rest, failed] = std::from_chars(received_.data(), end, size);
  if (failed != std::errc() || rest != end || size > kFrameBytesMax) return Value::Null();
  if (received_.size() < line + 1 + size) return Value();
  auto frame = ValueFromJson(std::string_view(received_).substr(line + 1, size));
  received_.erase(0, line + 1 + size);
  if (frame) return *std::move(frame);
  // Valid JSON for Python, but nested too deep for a Value or with half a surrogate pair.
  return Value::Map(
      ValueMap{{"ok", Value::Bool(false)},
               {"type", Value::Text("")},
               {"message", Value::Text("the result cannot be stored: " + frame.error().message)}});
}

PythonInterpreter::Answer PythonInterpreter::Crashed() {
  const int status = child_.Reap();
  std::string how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                        : "with exit code " + std::to_string(WEXITSTATUS(status));
  return {End::kCrashed, {}, "the interpreter ended " + how};
}

}  // namespace everstep
