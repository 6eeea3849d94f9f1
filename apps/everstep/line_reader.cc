#include "line_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "interrupt.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kBatchBytes = 8 << 20;  // a batch also ends at this size
constexpr std::chrono::milliseconds kForever{-1};
constexpr std::chrono::milliseconds kNoWait{0};

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

std::vector<InputLine> LineReader::NextBatch(std::size_t limit) {
  std::vector<InputLine> batch;
  std::size_t bytes = 0;
  while (batch.size() < limit && bytes < kBatchBytes) {
    InputLine line;
    if (TakeLine(line)) {
      bytes += line.text.size();
      if (line.too_long || !IsBlank(line.text)) batch.push_back(std::move(line));
      continue;
    }
    if (ended_ || Interrupted()) break;
    if (!WaitForInput(stream_, batch.empty() ? kForever : kNoWait)) {
      if (batch.empty()) continue;
      break;
    }
    ended_ = !ReadMore();
  }
  return batch;
}

// Takes a complete line, or the last one of the input.
bool LineReader::TakeLine(InputLine& line) {
  const std::size_t end = buffer_.find('\n', at_);
  const bool complete = end != std::string::npos;
  const std::size_t size = (complete ? end : buffer_.size()) - at_;
  if (!complete && !ended_) {
    if (size > line_bytes_max_) skipping_ = true;
    buffer_.erase(0, skipping_ ? buffer_.size() : at_);
    at_ = 0;
    return false;
  }
  if (!complete && size == 0 && !skipping_) return false;
  line.number = ++lines_;
  line.too_long = skipping_ || size > line_bytes_max_;
  if (!line.too_long) line.text = buffer_.substr(at_, size);
  skipping_ = false;
  at_ = complete ? end + 1 : buffer_.size();
  return true;
}

bool LineReader::ReadMore() {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const ssize_t count = read(stream_, buffer_.data() + before, kReadBytes);
  if (count < 0 && errno != EINTR && errno != EAGAIN) error_ = errno;
  buffer_.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  return count > 0 || (count < 0 && error_ == 0);
}

}  // namespace everstep::cli
