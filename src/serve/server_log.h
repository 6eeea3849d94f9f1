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

// One log entry for the operator. The caller must keep tokens, secrets and bodies out of it.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string_view event;    // "request.slow": stable, for programs
  std::string_view message;  // for people
  std::vector<std::pair<std::string_view, std::string>> fields{};
};

// The log as a port. Thread-safe; Write never waits for the reader.
class ServerLog {
 public:
  virtual ~ServerLog() = default;
  virtual void Write(const LogLine& line) = 0;
};

enum class LogFormat : std::uint8_t { kText, kJson };
// Returns the line with its line break. Integers become JSON numbers; characters that could control
// a terminal are escaped.
std::string Format(const LogLine& line, Timestamp at, LogFormat format);

// Writes lines to a file descriptor, which it does not own, on its own thread, so that a stalled
// reader blocks nobody. Lines beyond kQueuedMax are dropped and counted.
class StreamLog final : public ServerLog {
 public:
  static constexpr std::size_t kQueuedMax = 10'000;

  struct Options {
    int descriptor = 2;
    LogFormat format = LogFormat::kJson;
    LogLevel level = LogLevel::kInfo;  // the least severe level that is written
  };
  StreamLog(Options options, Clock& clock);
  // Writes what is still queued.
  ~StreamLog() override;

  void Write(const LogLine& line) override;
  // Waits until every line is written. Returns false if that takes longer than `wait`.
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
