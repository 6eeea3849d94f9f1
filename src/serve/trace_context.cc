#include "serve/trace_context.h"

#include <algorithm>
#include <vector>

namespace everstep {
namespace {

constexpr std::size_t kTraceparentBytes = 55;
constexpr std::size_t kStateBytesMax = 512;
constexpr std::size_t kStateBytesReadMax = 8'192;
constexpr std::size_t kStateMembersMax = 32;
constexpr std::size_t kLongMemberBytes = 128;  // dropped first if the state is too long

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}
bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

std::uint8_t HexByte(std::string_view two) {
  const auto value = [](char c) { return IsDigit(c) ? c - '0' : c - 'a' + 10; };
  return static_cast<std::uint8_t>(value(two[0]) << 4 | value(two[1]));
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "vendor" or "tenant@system".
bool IsKey(std::string_view key) {
  const auto part = [](std::string_view text, std::size_t bytes_max, bool digit_first) {
    if (text.empty() || text.size() > bytes_max) return false;
    if (!IsLower(text.front()) && !(digit_first && IsDigit(text.front()))) return false;
    return std::all_of(text.begin(), text.end(), [](char c) {
      return IsLower(c) || IsDigit(c) || c == '_' || c == '-' || c == '*' || c == '/';
    });
  };
  const std::size_t at = key.find('@');
  if (at == std::string_view::npos) return part(key, 256, true);
  return part(key.substr(0, at), 241, true) && part(key.substr(at + 1), 14, false);
}

bool IsStateValue(std::string_view value) {
  return !value.empty() && value.size() <= 256 && value.back() != ' ' &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= 0x20 && c <= 0x7e && c != ',' && c != '='; });
}

std::string Joined(const std::vector<std::string_view>& members) {
  std::string text;
  for (const std::string_view member : members) {
    if (!text.empty()) text.push_back(',');
    text.append(member);
  }
  return text;
}

// Returns the list without whitespace and empty members, and cut to the size limit. Nullopt if it
// is invalid.
std::optional<std::string> CleanState(std::string_view state) {
  if (state.size() > kStateBytesReadMax) return std::nullopt;
  std::vector<std::string_view> members;
  while (!state.empty()) {
    const std::size_t end = std::min(state.find(','), state.size());
    const std::string_view member = Trimmed(state.substr(0, end));
    state.remove_prefix(std::min(end + 1, state.size()));
    if (member.empty()) continue;
    const std::size_t equals = std::min(member.find('='), member.size());
    const std::string_view key = member.substr(0, equals);
    const std::string_view value = member.substr(std::min(equals + 1, member.size()));
    const auto has_key = [key](std::string_view other) {
      return other.substr(0, other.find('=')) == key;
    };
    if (!IsKey(key) || !IsStateValue(value) || members.size() == kStateMembersMax ||
        std::ranges::any_of(members, has_key)) {
      return std::nullopt;
    }
    members.push_back(member);
  }
  std::string clean = Joined(members);
  if (clean.size() > kStateBytesMax) {
    std::erase_if(members,
                  [](std::string_view member) { return member.size() > kLongMemberBytes; });
    clean = Joined(members);
  }
  while (clean.size() > kStateBytesMax) {
    members.pop_back();
    clean = Joined(members);
  }
  return clean;
}

constexpr std::size_t kHexDigits = 16;  // of 64 bits

void PutHex(std::uint64_t number, char* to) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = kHexDigits; i-- > 0; number >>= 4) to[i] = kDigits[number & 15];
}

std::string Hex(std::uint64_t number) {
  std::string text(kHexDigits, '0');
  PutHex(number, text.data());
  return text;
}

std::uint64_t NotZero(Random& random) {
  std::uint64_t number = 0;
  while (number == 0) number = random.Next();
  return number;
}

}  // namespace

std::optional<TraceContext> ParseTraceContext(std::string_view traceparent,
                                              std::string_view tracestate) {
  const std::string_view text = Trimmed(traceparent);
  if (text.size() < kTraceparentBytes) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  const bool dashes = text[2] == '-' && text[35] == '-' && text[52] == '-';
  if (!dashes || !IsHex(version) || version == "ff" || !IsId(trace) || !IsId(span) ||
      !IsHex(flags)) {
    return std::nullopt;
  }
  if (text.size() > kTraceparentBytes && (version == "00" || text[kTraceparentBytes] != '-')) {
    return std::nullopt;
  }
  TraceContext context;
  context.trace_id = trace;
  context.span_id = span;
  // Of later versions only the known bit is used.
  context.flags = HexByte(flags) & (version == "00" ? 0xff : 0x01);
  context.state = CleanState(tracestate).value_or(std::string());
  return context;
}

TraceContext NewTrace(Random& random) {
  TraceContext context;
  context.trace_id.resize(2 * kHexDigits);
  PutHex(NotZero(random), context.trace_id.data());
  PutHex(random.Next(), context.trace_id.data() + kHexDigits);
  context.span_id = Hex(NotZero(random));
  return context;
}

TraceContext ChildOf(const TraceContext& parent, Random& random) {
  TraceContext child = parent;
  child.span_id = Hex(NotZero(random));
  return child;
}

std::string Traceparent(const TraceContext& context) {
  return "00-" + context.trace_id + "-" + context.span_id + "-" + Hex(context.flags).substr(14);
}

}  // namespace everstep
