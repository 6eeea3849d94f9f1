#include "net/response_head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "base/assert.h"
#include "base/clock.h"
#include "net/content_coding.h"
#include "net/http_text.h"
#include "net/problem.h"

namespace everstep {
namespace {

// Headers that only the server may set.
bool IsServersOwn(std::string_view name) {
  switch (name.size()) {
    case 4:
      return EqualsIgnoringCase(name, "date");
    case 10:
      return EqualsIgnoringCase(name, "connection");
    case 14:
      return EqualsIgnoringCase(name, "content-length");
    case 17:
      return EqualsIgnoringCase(name, "transfer-encoding");
    default:
      return false;
  }
}

void AppendNumber(std::uint64_t number, std::string& out) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void AppendFieldText(std::string_view text, std::string& out) {
  if (IsFieldText(text)) {
    out += text;
    return;
  }
  for (const char c : text) out += IsFieldText({&c, 1}) ? c : ' ';
}

void AppendStatusLine(int status, std::string& out) {
  if (status == 200) {
    out += "HTTP/1.1 200 OK\r\n";
    return;
  }
  out += "HTTP/1.1 ";
  AppendNumber(static_cast<std::uint64_t>(status), out);
  out += ' ';
  out += ReasonPhrase(status);
  out += "\r\n";
}

std::string* FindHeader(ServerResponse& response, std::string_view name) {
  for (auto& [key, value] : response.headers) {
    if (EqualsIgnoringCase(key, name)) return &value;
  }
  return nullptr;
}

}  // namespace

bool HasBody(int status) { return status != 204 && status != 304; }

void AppendResponseHead(const ServerResponse& response, ResponseFraming framing,
                        std::string_view date_line, std::string& out) {
  AppendStatusLine(response.status, out);
  out += date_line;
  for (const auto& [name, value] : response.headers) {
    if (IsServersOwn(name) || !IsToken(name)) continue;
    out += name;
    out += ": ";
    AppendFieldText(value, out);
    out += "\r\n";
  }
  if (framing.stream) {
    if (!framing.http_1_0) out += "Transfer-Encoding: chunked\r\n";
  } else if (HasBody(response.status)) {
    out += "Content-Length: ";
    AppendNumber(response.Body().size(), out);
    out += "\r\n";
  }
  if (framing.close) out += "Connection: close\r\n";
  out += "\r\n";
}

void CompressResponse(ServerResponse& response, bool accepted, std::size_t bytes_min) {
  if (response.body.size() < bytes_min || response.status == 206 || !HasBody(response.status)) {
    return;
  }
  const std::string* type = FindHeader(response, "content-type");
  if (type == nullptr || !IsCompressible(*type)) return;
  if (FindHeader(response, "content-encoding") != nullptr) return;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!accepted) return;
  std::string compressed = Gzip(response.body);
  if (compressed.size() >= response.body.size()) return;
  response.body = std::move(compressed);
  response.headers.emplace_back("Content-Encoding", "gzip");
  if (std::string* tag = FindHeader(response, "etag"); tag != nullptr && tag->starts_with('"')) {
    tag->insert(0, "W/");
  }
}

std::string DateLine(Timestamp now) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds =
      static_cast<time_t>(std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> line;
  const int size =
      std::snprintf(line.data(), line.size(), "Date: %s, %02d %s %d %02d:%02d:%02d GMT\r\n",
                    kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                    kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                    parts.tm_hour, parts.tm_min, parts.tm_sec);
  return {line.data(), static_cast<std::size_t>(size)};
}

std::string_view DateLineNow() {
  thread_local std::chrono::seconds second{-1};
  thread_local std::string line;
  const Timestamp now = SystemClock().Now();
  const auto current = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  if (current != second) {
    second = current;
    line = DateLine(now);
  }
  return line;
}

ServerResponse ProblemResponse(const HttpRefusal& refusal) {
  EVERSTEP_ASSERT(std::find(kServerProblems.begin(), kServerProblems.end(), refusal.code) !=
                  kServerProblems.end());
  ServerResponse response;
  response.status = refusal.status;
  response.headers = {{"Content-Type", "application/problem+json"}};
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  response.body = ProblemJson(refusal.status, refusal.code, refusal.detail);
  return response;
}

}  // namespace everstep
