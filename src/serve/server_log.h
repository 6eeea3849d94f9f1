#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace everstep {

enum class LogLevel : std::uint8_t { kError, kWarn, kInfo };
std::string_view Name(LogLevel level);  // "warn"

// One thing that a server tells its operator. Whoever makes it sees to it that no token, secret or
// body is in it.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string_view event;    // "request.slow": stable, for programs
  std::string_view message;  // for people
  std::vector<std::pair<std::string_view, std::string>> fields{};
};

// Where a server tells them, as a port. Thread-safe; does not wait for whoever reads.
class ServerLog {
 public:
  virtual ~ServerLog() = default;
  virtual void Write(const LogLine& line) = 0;
};

enum class LogFormat : std::uint8_t { kText, kJson };
// With its line break. Values that are whole numbers are numbers in JSON; what could steer a
// terminal is escaped.
std::string Format(const LogLine& line, Timestamp at, LogFormat format);

// Writes lines to a file descriptor, which it does not own, on a thread of its own: who does not
// read holds nobody up. Lines beyond kQueuedMax are dropped and counted.
class StreamLog final : public ServerLog {
 public:
  static constexpr std::size_t kQueuedMax = 10'000;

  struct Options {
    int descriptor = 2;
    LogFormat format = LogFormat::kJson;
    LogLevel level = LogLevel::kInfo;  // the least severe that is written
  };
  StreamLog(Options options, Clock& clock);
  // Writes what is queued.
  ~StreamLog() override;

  void Write(const LogLine& line) override;
  // Waits until every line is written. False: that took longer than `wait`.
  bool Flush(std::chrono::milliseconds wait);

 private:
  void Run();

  const Options options_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable written_;
  std::deque<std::string> queue_;
  bool writing_ = false;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace everstep
