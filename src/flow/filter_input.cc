#include "flow/filter_input.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/utf8.h"
#include "flow/expression_operators.h"

namespace everstep {
namespace {

using Kind = Value::Kind;

Value MemberOrItem(const Value& value, std::string_view name) {
  Value member = value.Get(name);
  if (!member.undefined() || value.kind() != Kind::kList) return member;
  std::int64_t index = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = result.ec == std::errc() && result.ptr == name.data() + name.size();
  return whole ? value.At(index) : Value();
}

Result<Value> Characters(const FilterCall& call, const std::string& text) {
  if (!call.meter.Read(text.size())) return OverLimit();
  ValueList items;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CharacterSize(text, at);
    if (!call.meter.MakeItems(1) || !call.meter.MakeText(size)) return OverLimit();
    items.push_back(Value::Text(text.substr(at, size)));
    at += size;
  }
  return Value::List(std::move(items));
}

}  // namespace

Error WrongInput(const FilterCall& call, std::string_view needed) {
  return ExpressionError("filter '" + std::string(call.name) + "' needs " + std::string(needed) +
                         ", not " + std::string(KindName(call.input)));
}

Error WrongArgument(const FilterCall& call, std::size_t argument, std::string_view needed) {
  const ExpressionFilter* filter = FindFilter(call.name);
  return ExpressionError("argument '" + std::string(filter->parameters[argument]) +
                         "' of filter '" + std::string(call.name) + "' must be " +
                         std::string(needed) + ", not " +
                         std::string(KindName(call.arguments[argument])));
}

Result<Value> InputText(const FilterCall& call) {
  switch (call.input.kind()) {
    case Kind::kText:
      if (!call.meter.Read(call.input.text().size())) return OverLimit();
      return call.input;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kDouble:
      return Value::Text(ToText(call.input));
    default:
      return WrongInput(call, "text");
  }
}

Result<Value> InputList(const FilterCall& call) {
  switch (call.input.kind()) {
    case Kind::kList:
      if (!call.meter.Operations(call.input.list().size())) return OverLimit();
      return call.input;
    case Kind::kText:
      return Characters(call, call.input.text());
    case Kind::kMap: {
      const auto members = call.input.shared_members();
      if (!call.meter.MakeItems(members->size())) return OverLimit();
      ValueList keys;
      keys.reserve(members->size());
      for (const auto& [key, member] : *members) {
        if (!call.meter.MakeText(key.size())) return OverLimit();
        keys.push_back(Value::Text(key));
      }
      return Value::List(std::move(keys));
    }
    default:
      return WrongInput(call, "a list");
  }
}

Result<Value> InputMap(const FilterCall& call) {
  if (call.input.kind() != Kind::kMap) return WrongInput(call, "a map");
  return call.input;
}

Result<std::int64_t> IntArgument(const FilterCall& call, std::size_t argument,
                                 std::int64_t otherwise) {
  const Value& value = call.arguments[argument];
  if (value.undefined()) return otherwise;
  if (value.kind() != Kind::kInt) return WrongArgument(call, argument, "a whole number");
  return value.int_value();
}

Result<std::string> TextArgument(const FilterCall& call, std::size_t argument,
                                 std::string_view otherwise) {
  const Value& value = call.arguments[argument];
  if (value.undefined()) return std::string(otherwise);
  if (value.kind() != Kind::kText) return WrongArgument(call, argument, "text");
  if (!call.meter.Read(value.text().size())) return OverLimit();
  return value.text();
}

Value AttributeOf(const Value& value, const Value& attribute) {
  if (attribute.undefined()) return value;
  if (attribute.kind() == Kind::kInt) return value.At(attribute.int_value());
  if (attribute.kind() != Kind::kText) return {};
  std::string_view path = attribute.text();
  Value at = value;
  while (true) {
    const std::size_t dot = path.find('.');
    at = MemberOrItem(at, path.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
}

Result<ValueList> KeysOf(const FilterCall& call, const ValueList& list, const Value& attribute,
                         bool case_matters) {
  const std::size_t path_bytes = attribute.kind() == Kind::kText ? attribute.text().size() : 0;
  ValueList keys;
  keys.reserve(list.size());
  for (const Value& item : list) {
    if (!call.meter.Read(path_bytes) || !call.meter.MakeItems(1)) return OverLimit();
    Value key = AttributeOf(item, attribute);
    if (key.kind() == Kind::kText && !case_matters) {
      if (!call.meter.MakeText(key.text().size())) return OverLimit();
      std::string lower = key.text();
      std::ranges::transform(lower, lower.begin(), AsciiLower);
      key = Value::Text(std::move(lower));
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace everstep
