#include "work/command_run.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace everstep {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::chrono::seconds kBeatInterval(1);

class Run {
 public:
  Run(ChildProcess child, std::string_view input, const CommandLimits& limits, StopRequest& stop)
      : child_(std::move(child)), input_(input), limits_(limits), stop_(stop) {
    if (limits.timeout) deadline_ = SteadyNow() + *limits.timeout;
  }

  CommandOutcome ToEnd(const std::function<void()>& beat) {
    if (input_.empty()) child_.input().Close();
    while (true) {
      std::array<pollfd, 5> waits = {
          pollfd{child_.ended(), POLLIN, 0}, pollfd{stop_.descriptor(), POLLIN, 0},
          pollfd{child_.output().get(), POLLIN, 0}, pollfd{child_.errors().get(), POLLIN, 0},
          pollfd{child_.input().get(), POLLOUT, 0}};
      ::poll(waits.data(), waits.size(), WaitMilliseconds());
      if (waits[1].revents != 0) stop_.Take();
      CheckTime();
      const bool wrote = Take(child_.output(), outcome_.output);
      const bool complained = Take(child_.errors(), outcome_.errors);
      if (wrote || complained) Beat(beat);
      if (waits[4].revents != 0) Feed();
      if (waits[0].revents != 0) return Finish();
    }
  }

 private:
  int WaitMilliseconds() const {
    std::optional<Time> next = kill_at_;
    if (deadline_ && (!next || *deadline_ < *next)) next = deadline_;
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - SteadyNow()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }

  void CheckTime() {
    if (reaped_) return;
    const Time now = SteadyNow();
    if (stop_.asked() && !ending_) {
      outcome_.end = CommandOutcome::End::kStopped;
      Terminate(now);
    }
    if (deadline_ && now >= *deadline_) {
      deadline_.reset();
      if (!ending_) {
        outcome_.end = CommandOutcome::End::kTimedOut;
        Terminate(now);
      }
    }
    const bool forced = stop_.level() == StopRequest::Level::kForced;
    if (kill_at_ && (forced || now >= *kill_at_)) {
      kill_at_.reset();
      child_.Signal(SIGKILL);
    }
  }

  void Terminate(Time now) {
    ending_ = true;
    kill_at_ = now + limits_.grace;
    child_.Signal(SIGTERM);
  }

  // Reads all available output. Continues beyond the limit, so that the process does not block.
  bool Take(UniqueFd& pipe, CapturedText& text) {
    bool some = false;
    while (pipe) {
      const ssize_t size = ::read(pipe.get(), piece_.data(), piece_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) break;
      if (size <= 0) {
        pipe.Close();
        break;
      }
      some = true;
      const auto count = static_cast<std::size_t>(size);
      const std::size_t kept = std::min(count, limits_.output_bytes_max - text.bytes.size());
      text.bytes.append(piece_.data(), kept);
      text.truncated = text.truncated || kept < count;
      // A process that writes endlessly must not prevent its timeout from being checked.
      if (count < piece_.size()) break;
      CheckTime();
    }
    return some;
  }

  void Feed() {
    while (!input_.empty()) {
      const ssize_t size = ::write(child_.input().get(), input_.data(), input_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      if (size < 0) break;  // the process has closed its input, which is not an error
      input_.remove_prefix(static_cast<std::size_t>(size));
    }
    child_.input().Close();
  }

  void Beat(const std::function<void()>& beat) {
    const Time now = SteadyNow();
    if (!beat || (last_beat_ && now - *last_beat_ < kBeatInterval)) return;
    last_beat_ = now;
    beat();
  }

  CommandOutcome Finish() {
    const int status = child_.Reap();
    reaped_ = true;
    // Read the last output. The number of reads is bounded, because a process that has left the
    // group may keep the pipe open and continue to write.
    for (auto [pipe, text] : {std::pair(&child_.output(), &outcome_.output),
                              std::pair(&child_.errors(), &outcome_.errors)}) {
      for (int pieces = 0; pieces < 64 && Take(*pipe, *text); ++pieces) {
      }
    }
    if (WIFSIGNALED(status)) {
      outcome_.number = WTERMSIG(status);
      if (outcome_.end == CommandOutcome::End::kExited) {
        outcome_.end = CommandOutcome::End::kSignalled;
      }
    } else {
      outcome_.number = WEXITSTATUS(status);
    }
    return std::move(outcome_);
  }

  ChildProcess child_;
  std::string_view input_;
  const CommandLimits& limits_;
  StopRequest& stop_;
  CommandOutcome outcome_;
  std::optional<Time> deadline_;
  std::optional<Time> kill_at_;
  std::optional<Time> last_beat_;
  bool ending_ = false;
  bool reaped_ = false;
  std::vector<char> piece_ = std::vector<char>(kPieceBytes);
};

}  // namespace

CommandOutcome RunCommand(ChildProcess child, std::string_view input, const CommandLimits& limits,
                          StopRequest& stop, const std::function<void()>& beat) {
  return Run(std::move(child), input, limits, stop).ToEnd(beat);
}

}  // namespace everstep
