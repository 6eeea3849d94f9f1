#include "net/http_answer_reader.h"

#include <algorithm>
#include <charconv>

#include "net/http_text.h"

namespace everstep {
namespace {

constexpr std::size_t kHeadBytesMax = 256 << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// Removes the first line from `text` and returns it.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 2, text.size()));
  return line;
}

}  // namespace

HttpAnswerReader::Outcome HttpAnswerReader::Read(std::string_view input) {
  if (in_body_) return ReadBody(input);
  head_.append(input);
  std::size_t end = head_.find(kHeadEnd);
  while (end != std::string::npos && head_.starts_with("HTTP/1.1 1")) {
    head_.erase(0, end + kHeadEnd.size());  // "100 Continue" or the like
    end = head_.find(kHeadEnd);
  }
  if (std::min(end, head_.size()) > kHeadBytesMax) return Outcome::kTooLarge;
  if (end == std::string::npos) return Outcome::kMore;
  if (!ReadHead(std::string_view(head_).substr(0, end))) return Outcome::kMalformed;
  if (has_body_ && length_ > bytes_max_) return Outcome::kTooLarge;
  in_body_ = true;
  return ReadBody(std::string_view(head_).substr(end + kHeadEnd.size()));
}

bool HttpAnswerReader::ReadHead(std::string_view head) {
  const std::string_view status = TakeLine(head);
  const bool known = status.starts_with("HTTP/1.1 ") || status.starts_with("HTTP/1.0 ");
  if (!known || status.size() < 12 || (status.size() > 12 && status[12] != ' ')) return false;
  const std::string_view code = status.substr(9, 3);
  if (!std::ranges::all_of(code, IsDigit)) return false;
  std::from_chars(code.data(), code.data() + code.size(), response_.status);
  if (response_.status < 200) return false;
  keeps_connection_ = status[7] == '1';
  while (!head.empty()) {
    if (!ReadHeader(TakeLine(head))) return false;
  }
  if (sized_ && chunked_) return false;
  if (response_.status == 204 || response_.status == 304) has_body_ = false;
  return !has_body_ || chunked_ || sized_;
}

bool HttpAnswerReader::ReadHeader(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return false;
  std::string name(line.substr(0, colon));
  LowerInPlace(name);
  const std::string_view value = Trim(line.substr(colon + 1));
  if (!IsFieldText(value)) return false;
  if (name == "content-length") {
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), length_);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return false;
    if (std::exchange(sized_, true)) return false;
  } else if (name == "transfer-encoding") {
    if (!EqualsIgnoringCase(value, "chunked") || std::exchange(chunked_, true)) return false;
  } else if (name == "connection" && EqualsIgnoringCase(value, "close")) {
    keeps_connection_ = false;
  }
  response_.headers.emplace_back(std::move(name), value);
  return true;
}

HttpAnswerReader::Outcome HttpAnswerReader::ReadBody(std::string_view input) {
  if (!has_body_) return input.empty() ? Outcome::kDone : Outcome::kMalformed;
  if (!chunked_) {
    if (input.size() > length_ - response_.body.size()) return Outcome::kMalformed;
    response_.body.append(input);
    return response_.body.size() == length_ ? Outcome::kDone : Outcome::kMore;
  }
  switch (chunks_.Read(input, bytes_max_, response_.body)) {
    case ChunkedBody::Outcome::kMore:
      return Outcome::kMore;
    case ChunkedBody::Outcome::kDone:
      return input.empty() ? Outcome::kDone : Outcome::kMalformed;
    case ChunkedBody::Outcome::kRefused:
      break;
  }
  return chunks_.refusal().status == 413 ? Outcome::kTooLarge : Outcome::kMalformed;
}

}  // namespace everstep
