#include "bus/redaction.h"

#include <utility>

#include "base/value.h"

namespace everstep {
namespace {

std::string Unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size();
    if (escape && (part[i + 1] == '0' || part[i + 1] == '1')) {
      text.push_back(part[++i] == '0' ? '~' : '/');
    } else {
      text.push_back(part[i]);
    }
  }
  return text;
}

Value Replaced(const Value& value, std::span<const std::string> path) {
  if (path.empty()) return Value::Text("[redacted]");
  const std::string& part = path.front();
  if (value.kind() == Value::Kind::kMap) {
    ValueMap members = value.members();
    for (auto& [key, member] : members) {
      if (part == "*" || part == key) member = Replaced(member, path.subspan(1));
    }
    return Value::Map(std::move(members));
  }
  if (value.kind() == Value::Kind::kList) {
    ValueList items = value.list();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (part == "*" || part == std::to_string(i)) {
        items[i] = Replaced(items[i], path.subspan(1));
      }
    }
    return Value::List(std::move(items));
  }
  return value;
}

}  // namespace

std::vector<std::string> PointerParts(std::string_view pointer) {
  std::vector<std::string> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the slash
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    parts.push_back(Unescaped(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  if (!parts.empty()) parts.erase(parts.begin());
  return parts;
}

Result<std::string> Redact(std::string_view json,
                           std::span<const std::vector<std::string>> pointers) {
  auto value = ValueFromJson(json);
  if (!value) return std::move(value).error();
  for (const std::vector<std::string>& pointer : pointers) *value = Replaced(*value, pointer);
  return ToJson(*value);
}

}  // namespace everstep
