#include "native_event.h"

#include "base/json.h"
#include "base/timestamp.h"
#include "json_layout.h"
#include "option_values.h"

namespace everstep::cli {
namespace {

std::string Member(std::string_view object, std::string_view key) {
  if (object.empty()) return {};
  const auto value = RawMember(object, key);
  return value ? PlainText(*value) : std::string();
}

void AddDetail(std::string_view detail, std::string& text) {
  if (detail.empty()) return;
  if (!text.empty()) text += ", ";
  text += detail;
}

}  // namespace

NativeEvent ReadNative(const LogEvent& event) {
  NativeEvent native;
  native.run_seq = event.run_seq;
  native.type = event.type;
  native.run_id = Member(event.json, "runId");
  native.entity = Member(event.json, "stepId");
  if (native.entity.empty()) native.entity = Member(event.json, "correlationId");
  native.attempt = ParseCount(Member(event.json, "logicalAttemptId")).value_or(1);
  native.emitted_at = ParseTimestamp(Member(event.json, "emittedAt")).value_or(SystemTime{});
  native.persisted_at = ParseTimestamp(Member(event.json, "persistedAt")).value_or(SystemTime{});
  native.payload = std::string(RawMember(event.json, "payload").value_or(""));
  return native;
}

std::string DetailOf(const NativeEvent& event) {
  const auto member = [&](std::string_view key) { return Member(event.payload, key); };
  std::string text = member("errorCode");
  if (const std::string message = member("errorMessage"); !message.empty()) {
    text += (text.empty() ? "" : ": ") + message;
  }
  if (member("willRetry") == "true") AddDetail("will retry", text);
  if (const std::string token = member("token"); !token.empty()) AddDetail("token " + token, text);
  if (const std::string due = member("dueAt"); !due.empty()) AddDetail("until " + due, text);
  AddDetail(member("signalType"), text);
  AddDetail(member("reason"), text);
  return text;
}

}  // namespace everstep::cli
