#include "work/inputs.h"

#include <algorithm>

#include "flow/duration.h"

namespace everstep {
namespace {

bool IsScalar(const Value& value) {
  return value.is_number() || value.kind() == Value::Kind::kBool ||
         value.kind() == Value::Kind::kText;
}

}  // namespace

Inputs::Inputs(const Value& map) {
  if (map.kind() == Value::Kind::kMap) {
    members_ = map.members();
    std::erase_if(members_, [](const ValueMember& member) {
      return member.second.undefined() || member.second.kind() == Value::Kind::kNull;
    });
  } else if (!map.undefined() && map.kind() != Value::Kind::kNull) {
    Fault("inputs", "must be a map");
  }
}

bool Inputs::Has(std::string_view name) const { return !Get(name).undefined(); }

Value Inputs::Get(std::string_view name) const {
  for (const auto& [key, value] : members_) {
    if (key == name) return value;
  }
  return Value();
}

std::optional<std::string> Inputs::Text(std::string_view name) {
  const Value value = Get(name);
  if (value.undefined()) return std::nullopt;
  if (value.kind() == Value::Kind::kText) return value.text();
  if (value.is_number()) return ToText(value);
  Fault(name, "must be text");
  return std::nullopt;
}

std::string Inputs::Text(std::string_view name, std::string otherwise) {
  return Text(name).value_or(std::move(otherwise));
}

bool Inputs::Bool(std::string_view name, bool otherwise) {
  const Value value = Get(name);
  if (value.undefined()) return otherwise;
  if (value.kind() == Value::Kind::kBool) return value.bool_value();
  Fault(name, "must be true or false");
  return otherwise;
}

std::int64_t Inputs::Int(std::string_view name, std::int64_t otherwise, std::int64_t min,
                         std::int64_t max) {
  const Value value = Get(name);
  if (value.undefined()) return otherwise;
  if (value.kind() == Value::Kind::kInt && value.int_value() >= min && value.int_value() <= max) {
    return value.int_value();
  }
  Fault(name, "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return otherwise;
}

std::optional<Milliseconds> Inputs::Duration(std::string_view name) {
  const Value value = Get(name);
  if (value.undefined()) return std::nullopt;
  std::optional<Milliseconds> duration;
  if (value.kind() == Value::Kind::kText) {
    duration = ParseDuration(value.text());
  } else if (value.is_number() && value.number() >= 0 &&
             value.number() <= static_cast<double>(kDurationMax.count())) {
    duration = Milliseconds(static_cast<std::int64_t>(value.number()));
  }
  if (!duration)
    Fault(name, "must be a duration such as \"250ms\", \"5s\", \"2m\", or milliseconds");
  return duration;
}

std::vector<std::string> Inputs::Texts(std::string_view name) {
  std::vector<std::string> texts;
  const Value value = Get(name);
  if (value.undefined()) return texts;
  if (value.kind() != Value::Kind::kList) {
    Fault(name, "must be a list of text values");
    return texts;
  }
  for (const Value& item : value.list()) {
    if (!IsScalar(item)) {
      Fault(name, "must be a list of text values");
      return {};
    }
    texts.push_back(ToText(item));
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> Inputs::Pairs(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const Value value = Get(name);
  if (value.undefined()) return pairs;
  if (value.kind() != Value::Kind::kMap) {
    Fault(name, "must be a map of text values");
    return pairs;
  }
  for (const auto& [key, member] : value.members()) {
    if (member.kind() == Value::Kind::kNull || member.undefined()) continue;
    const ValueList items = member.kind() == Value::Kind::kList ? member.list() : ValueList{member};
    for (const Value& item : items) {
      if (IsScalar(item)) {
        pairs.emplace_back(key, ToText(item));
      } else {
        Fault(name, "'" + key + "' must be text, a number, true or false");
      }
    }
  }
  return pairs;
}

std::vector<std::int64_t> Inputs::Ints(std::string_view name) {
  std::vector<std::int64_t> ints;
  const Value value = Get(name);
  if (value.undefined()) return ints;
  const ValueList items = value.kind() == Value::Kind::kList ? value.list() : ValueList{value};
  for (const Value& item : items) {
    if (item.kind() == Value::Kind::kInt) {
      ints.push_back(item.int_value());
    } else {
      Fault(name, "must be a whole number or a list of whole numbers");
    }
  }
  return ints;
}

void Inputs::AllowOnly(std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : members_) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      Fault(key, "is not an input of this tool");
    }
  }
}

void Inputs::Fault(std::string_view name, std::string_view what) {
  if (!faults_.empty()) faults_.append("; ");
  faults_.append(name).append(" ").append(what);
}

}  // namespace everstep
