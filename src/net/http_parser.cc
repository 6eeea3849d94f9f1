#include "net/http_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "net/http_text.h"

namespace everstep {
namespace {

// Longer than any existing method.
constexpr std::size_t kMethodBytesMax = 16;
// The bytes of a request line in addition to its target.
constexpr std::size_t kLineOverhead = kMethodBytesMax + sizeof("  HTTP/1.1\r\n");

bool IsTargetText(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool IsHostText(std::string_view text) {
  constexpr std::string_view kMarks = "-._~%!$&'()*+;=:[]";
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsAlphanumeric(c) || kMarks.find(c) != std::string_view::npos;
  });
}

}  // namespace

void HeadParser::Reset() {
  begin_ = line_start_ = scanned_ = lines_ = 0;
  facts_ = HeadFacts();
  refusal_ = HttpRefusal();
  seen_ = 0;
  asked_to_close_ = refused_ = false;
}

bool HeadParser::Refuse(int status, std::string_view code, std::string_view detail) {
  refusal_ = {status, code, detail};
  refused_ = true;
  return false;
}

HeadParser::Outcome HeadParser::Parse(std::string_view input, ServerRequest& request) {
  if (!FindEnd(input)) {
    return refused_ || !CheckUnfinished(input) ? Outcome::kRefused : Outcome::kMore;
  }
  // `line_start_` is now the end of the head. The last four bytes are two line ends.
  const std::string_view head = input.substr(begin_, line_start_ - begin_ - 2);
  if (head.size() > limits_.head_bytes_max) {
    Refuse(431, "HEADERS_TOO_LARGE", "the head of the request is too large");
    return Outcome::kRefused;
  }
  return ParseHead(head, request) ? Outcome::kDone : Outcome::kRefused;
}

bool HeadParser::FindEnd(std::string_view input) {
  while (scanned_ < input.size()) {
    const void* found = std::memchr(input.data() + scanned_, '\n', input.size() - scanned_);
    if (found == nullptr) break;
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - input.data());
    if (at == line_start_ || input[at - 1] != '\r') {
      return Refuse("a line does not end with CR LF");
    }
    const bool empty = at - 1 == line_start_;
    if (lines_ == 0 && at - line_start_ > limits_.target_bytes_max + kLineOverhead) {
      return Refuse(414, "URI_TOO_LONG", "the request line is too long");
    }
    line_start_ = scanned_ = at + 1;
    if (!empty) {
      ++lines_;
    } else if (lines_ > 0) {
      return true;
    } else if (begin_ == 0) {
      begin_ = line_start_;
    } else {
      return Refuse("the request line is missing");
    }
  }
  scanned_ = input.size();
  return false;
}

// Checks a head that is not complete yet, so that garbage does not wait for a timeout and nothing
// grows without bound.
bool HeadParser::CheckUnfinished(std::string_view input) {
  const std::size_t size = input.size() - begin_;
  if (size == 0) return true;
  if (!IsTokenCharacter(input[begin_]) && input[begin_] != '\r') {
    return Refuse("this is not an HTTP request");
  }
  if (lines_ == 0 && size > limits_.target_bytes_max + kLineOverhead) {
    return Refuse(414, "URI_TOO_LONG", "the request line is too long");
  }
  if (lines_ > limits_.headers_max + 1) {
    return Refuse(431, "HEADERS_TOO_LARGE", "the request has too many headers");
  }
  if (size <= limits_.head_bytes_max + 1) return true;  // half of the empty line may be there
  return Refuse(431, "HEADERS_TOO_LARGE", "the head of the request is too large");
}

bool HeadParser::ParseHead(std::string_view head, ServerRequest& request) {
  if (lines_ > limits_.headers_max + 1) {
    return Refuse(431, "HEADERS_TOO_LARGE", "the request has too many headers");
  }
  request.headers.clear();
  request.headers.reserve(lines_ - 1);
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end - 1);
    head.remove_prefix(end + 1);
    if (first ? !ParseRequestLine(line, request) : !ParseHeader(line, request)) return false;
    first = false;
  }
  return CheckWhole();
}

bool HeadParser::ParseRequestLine(std::string_view line, ServerRequest& request) {
  const std::size_t method_end = line.find(' ');
  const std::string_view method = line.substr(0, method_end);
  if (!IsToken(method)) return Refuse("the request line has no valid method");
  if (method.size() > kMethodBytesMax) {
    return Refuse(501, "NOT_IMPLEMENTED", "unknown method");
  }
  const std::size_t target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || target_end <= method_end) {
    return Refuse("the request line is not METHOD TARGET HTTP/1.1");
  }
  const std::string_view version = line.substr(target_end + 1);
  if (version.size() != 8 || !version.starts_with("HTTP/") || !IsDigit(version[5]) ||
      version[6] != '.' || !IsDigit(version[7])) {
    return Refuse("the request line is not METHOD TARGET HTTP/1.1");
  }
  if (version[5] != '1') {
    return Refuse(505, "HTTP_VERSION_NOT_SUPPORTED", "this server supports HTTP/1.1");
  }
  facts_.http_1_0 = version[7] == '0';
  request.method = method;
  return ParseTarget(line.substr(method_end + 1, target_end - method_end - 1), request);
}

bool HeadParser::ParseTarget(std::string_view target, ServerRequest& request) {
  if (target.size() > limits_.target_bytes_max) {
    return Refuse(414, "URI_TOO_LONG", "the target of the request is too long");
  }
  if (target.empty() || !IsTargetText(target)) {
    return Refuse("the target is empty or contains invalid characters");
  }
  if (target.front() != '/') {
    // The form for proxies. Servers have to accept it, and only the path matters here.
    const std::size_t scheme = EqualsIgnoringCase(target.substr(0, 7), "http://")    ? 7
                               : EqualsIgnoringCase(target.substr(0, 8), "https://") ? 8
                                                                                     : 0;
    if (scheme == 0) return Refuse("the target is neither a path nor an http URL");
    target.remove_prefix(scheme);
    const std::size_t path = target.find_first_of("/?");
    if (path == 0 || !IsHostText(target.substr(0, path)))
      return Refuse("the URL of the target has no valid host");
    target.remove_prefix(std::min(path, target.size()));
  }
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (request.path.empty()) request.path = "/";
  request.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  return true;
}

bool HeadParser::ParseHeader(std::string_view line, ServerRequest& request) {
  if (line.front() == ' ' || line.front() == '\t')
    return Refuse("a header is folded over several lines");
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !IsToken(name)) {
    return Refuse("a header line is malformed");
  }
  const std::string_view value = Trim(line.substr(colon + 1));
  if (!IsFieldText(value)) return Refuse("a header contains a control character");
  auto& header = request.headers.emplace_back(name, value);
  LowerInPlace(header.first);
  return Interpret(header.first, value);
}

bool HeadParser::Interpret(std::string_view name, std::string_view value) {
  if (name == "host") {
    if (!Once(kHost)) return Refuse("there are two Host headers");
    return IsHostText(value) || Refuse("the Host header is not a valid host");
  }
  if (name == "content-length") return InterpretLength(value);
  if (name == "transfer-encoding") return InterpretCoding(value);
  if (name == "connection") {
    InterpretConnection(value);
    return true;
  }
  if (name == "expect") {
    if (!EqualsIgnoringCase(value, "100-continue")) {
      return Refuse(417, "EXPECTATION_FAILED", "only 100-continue is supported in Expect");
    }
    facts_.expects_continue = true;
    return true;
  }
  if (name != "content-encoding") return true;
  if (!Once(kEncoding)) return Refuse("there are two Content-Encoding headers");
  facts_.gzip_body = EqualsIgnoringCase(value, "gzip") || EqualsIgnoringCase(value, "x-gzip");
  return facts_.gzip_body || EqualsIgnoringCase(value, "identity") ||
         Refuse(415, "UNSUPPORTED_ENCODING", "a body may be encoded with gzip only");
}

bool HeadParser::Once(Seen header) {
  if ((seen_ & header) != 0) return false;
  seen_ = static_cast<std::uint8_t>(seen_ | header);
  return true;
}

bool HeadParser::InterpretLength(std::string_view value) {
  if (!Once(kLength)) return Refuse("there are two Content-Length headers");
  if (value.empty() || !std::all_of(value.begin(), value.end(), IsDigit)) {
    return Refuse("the Content-Length is not a number");
  }
  const char* end = value.data() + value.size();
  const auto [rest, failed] = std::from_chars(value.data(), end, facts_.content_length);
  if (failed != std::errc()) return Refuse(413, "CONTENT_TOO_LARGE", "the body is too large");
  return true;
}

bool HeadParser::InterpretCoding(std::string_view value) {
  if (!Once(kCoding)) return Refuse("there are two Transfer-Encoding headers");
  if (EqualsIgnoringCase(value, "chunked")) return true;
  return Refuse(501, "NOT_IMPLEMENTED", "only chunked is supported in Transfer-Encoding");
}

void HeadParser::InterpretConnection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    if (EqualsIgnoringCase(Trim(value.substr(0, comma)), "close")) asked_to_close_ = true;
    value.remove_prefix(comma == std::string_view::npos ? value.size() : comma + 1);
  }
}

bool HeadParser::CheckWhole() {
  if ((seen_ & kHost) == 0 && !facts_.http_1_0) return Refuse("the Host header is missing");
  if ((seen_ & kCoding) != 0) {
    if ((seen_ & kLength) != 0)
      return Refuse("Content-Length and Transfer-Encoding must not both be sent");
    if (facts_.http_1_0) return Refuse("Transfer-Encoding is not allowed in HTTP/1.0");
    facts_.framing = BodyFraming::kChunked;
  } else if (facts_.content_length > 0) {
    facts_.framing = BodyFraming::kLength;
  }
  facts_.keep_alive = !asked_to_close_ && !facts_.http_1_0;
  if (facts_.http_1_0) facts_.expects_continue = false;
  return true;
}

}  // namespace everstep
