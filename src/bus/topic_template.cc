#include "bus/topic_template.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::size_t kTopicBytesMax = 256;
constexpr std::string_view kHoles[] = {"type", "tenant", "project", "environment", "plan", "run"};

// "tenant" and "type" share their first letter, and so do "plan" and "project".
char LetterOf(std::string_view hole) {
  return hole == "type" || hole == "plan" ? hole[1] : hole.front();
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

void AppendPlain(std::string& out, std::string_view value, bool dots) {
  const std::size_t before = out.size();
  for (const char c : value) out.push_back(IsPlain(c) || (dots && c == '.') ? c : '_');
  if (out.size() == before) out.push_back('_');
}

}  // namespace

std::optional<std::string> TopicTemplate::FaultOf(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.size() > kTopicBytesMax) return "has more than 256 characters";
  if (text.front() == '.' || text.back() == '.' || text.find("..") != std::string_view::npos) {
    return "has an empty part between dots";
  }
  while (!text.empty()) {
    if (text.front() == '{') {
      const std::size_t end = text.find('}');
      const std::string_view hole = text.substr(1, end == std::string_view::npos ? end : end - 1);
      if (end == std::string_view::npos || std::ranges::find(kHoles, hole) == std::end(kHoles)) {
        return "{" + std::string(hole) +
               "} is not one of {type} {tenant} {project} {environment} {plan} {run}";
      }
      text.remove_prefix(end + 1);
    } else if (IsPlain(text.front()) || text.front() == '.') {
      text.remove_prefix(1);
    } else {
      return "may contain only letters, digits, '-', '_', '.' and placeholders like {type}";
    }
  }
  return std::nullopt;
}

TopicTemplate::TopicTemplate(std::string_view text) {
  EVERSTEP_ASSERT(!FaultOf(text));
  while (!text.empty()) {
    if (text.front() == '{') {
      const std::size_t end = text.find('}');
      pieces_.push_back({{}, LetterOf(text.substr(1, end - 1))});
      text.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(text.find('{'), text.size());
      pieces_.push_back({std::string(text.substr(0, end))});
      text.remove_prefix(end);
    }
  }
}

std::string TopicTemplate::Render(const RunScope& scope, const RunId& run_id,
                                  std::string_view type) const {
  std::string topic;
  for (const Piece& piece : pieces_) {
    switch (piece.hole) {
      case 'y':
        AppendPlain(topic, type, true);
        break;
      case 't':
        AppendPlain(topic, scope.tenant_id, false);
        break;
      case 'p':
        AppendPlain(topic, scope.project_id, false);
        break;
      case 'e':
        AppendPlain(topic, scope.environment_id, false);
        break;
      case 'l':
        AppendPlain(topic, scope.plan_id, false);
        break;
      case 'r':
        AppendPlain(topic, run_id.value(), false);
        break;
      default:
        topic.append(piece.text);
    }
  }
  return topic;
}

}  // namespace everstep
