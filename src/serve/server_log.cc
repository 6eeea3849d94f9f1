#include "serve/server_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/timestamp.h"

namespace everstep {
namespace {

bool IsWholeNumber(std::string_view text) {
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() < 16 && (text == "0" || text.front() != '0');
}

// Plain words are written as they are; anything else as a JSON string, which keeps it on one line.
std::string TextValue(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
  });
  return plain ? std::string(text) : JsonQuote(text);
}

std::string JsonLine(const LogLine& line, Timestamp at) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("at", FormatTimestamp(at));
  json.Member("level", Name(line.level));
  json.Member("event", line.event);
  json.Member("message", line.message);
  for (const auto& [name, value] : line.fields) {
    if (IsWholeNumber(value)) {
      json.RawMember(name, value);
    } else {
      json.Member(name, value);
    }
  }
  json.EndObject();
  return text + "\n";
}

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd watched{descriptor, POLLOUT, 0};
      ::poll(&watched, 1, -1);
    } else if (errno != EINTR) {
      return;  // a failing log has nowhere to report to
    }
  }
}

}  // namespace

std::string_view Name(LogLevel level) {
  constexpr std::string_view kNames[] = {"error", "warn", "info"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string Format(const LogLine& line, Timestamp at, LogFormat format) {
  if (format == LogFormat::kJson) return JsonLine(line, at);
  std::string text = FormatTimestamp(at) + " " + std::string(Name(line.level)) + " " +
                     std::string(line.event) + ": " + std::string(line.message);
  for (const auto& [name, value] : line.fields) {
    text.append(" ").append(name).append("=").append(TextValue(value));
  }
  return text + "\n";
}

StreamLog::StreamLog(Options options, Clock& clock)
    : options_(options), clock_(clock), writer_([this] { Run(); }) {}

StreamLog::~StreamLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

void StreamLog::Write(const LogLine& line) {
  if (line.level > options_.level) return;
  std::string text = Format(line, clock_.Now(), options_.format);
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kQueuedMax) {
      ++dropped_;
      return;
    }
    queue_.push_back(std::move(text));
  }
  changed_.notify_one();
}

bool StreamLog::Flush(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  return written_.wait_for(lock, wait, [this] { return queue_.empty() && !writing_; });
}

void StreamLog::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::string text;
    for (const std::string& line : queue_) text += line;
    queue_.clear();
    if (dropped_ > 0) {
      text += Format({LogLevel::kWarn,
                      "log.dropped",
                      "the log was not read fast enough; lines were dropped here",
                      {{"lines", std::to_string(dropped_)}}},
                     clock_.Now(), options_.format);
      dropped_ = 0;
    }
    writing_ = true;
    lock.unlock();
    WriteAll(options_.descriptor, text);
    lock.lock();
    writing_ = false;
    written_.notify_all();
  }
}

}  // namespace everstep
