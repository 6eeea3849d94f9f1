#include "interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/assert.h"

namespace everstep::cli {
namespace {

// Signals may arrive on several threads at once.
std::atomic<int> interrupted = 0;          // counted interrupts
std::atomic<int> answered = 1;             // interrupts that do not end the process
std::atomic<std::int64_t> counted_at = 0;  // time of the last counted one, in ms; 0: none
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
std::atomic<bool> hung_up = false;
// A byte in this pipe wakes a poll that began before the signal arrived.
std::array<int, 2> wake_up = {-1, -1};

extern "C" void OnInterrupt(int signal_number) {
  const int saved = errno;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = time.tv_sec * 1'000 + time.tv_nsec / 1'000'000;
  std::int64_t last = counted_at;
  const bool is_another = last == 0 || now - last >= kSameInterrupt.count();
  if (is_another && counted_at.compare_exchange_strong(last, now)) {
    if (interrupted.fetch_add(1) >= answered) {
      signal(signal_number, SIG_DFL);
      raise(signal_number);  // delivered when this handler returns
    }
    const char byte = 0;
    [[maybe_unused]] const auto written = write(wake_up[1], &byte, 1);
  }
  errno = saved;
}

extern "C" void OnHangup(int /*signal_number*/) {
  const int saved = errno;
  hung_up = true;
  const char byte = 0;
  [[maybe_unused]] const auto written = write(wake_up[1], &byte, 1);
  errno = saved;
}

}  // namespace

void CatchInterrupts() {
  const int made = pipe2(wake_up.data(), O_CLOEXEC | O_NONBLOCK);
  EVERSTEP_ASSERT(made == 0);
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;  // other reads and writes must not fail with EINTR
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void AnswerInterrupts(int count) { answered = count; }

void CatchHangups() {
  struct sigaction action {};
  action.sa_handler = OnHangup;
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
}

bool TakeHangup() {
  if (!hung_up.exchange(false)) return false;
  std::array<char, 64> bytes{};
  while (read(wake_up[0], bytes.data(), bytes.size()) > 0) {
  }
  return true;
}

bool Interrupted() { return interrupted != 0; }
int InterruptCount() { return interrupted; }

bool WaitForInput(int stream, std::chrono::milliseconds time) {
  std::array<pollfd, 2> watched = {{{stream, POLLIN, 0}, {wake_up[0], POLLIN, 0}}};
  const int timeout = time.count() < 0 ? -1 : static_cast<int>(time.count());
  const int ready = poll(watched.data(), watched.size(), timeout);
  return ready > 0 && watched[0].revents != 0 && !Interrupted();
}

}  // namespace everstep::cli
