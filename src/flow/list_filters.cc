#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "flow/expression_filter.h"
#include "flow/expression_operators.h"
#include "flow/filter_input.h"

namespace everstep {
namespace {

using Kind = Value::Kind;

Result<Value> End(const FilterCall& call, std::int64_t index) {
  if (call.input.kind() == Kind::kMap) {
    const Result<Value> keys = InputList(call);
    return keys ? keys->At(index) : keys;
  }
  if (call.input.undefined() || call.input.kind() == Kind::kList) return call.input.At(index);
  if (call.input.kind() != Kind::kText) return WrongInput(call, "a list");
  if (!call.meter.Read(call.input.text().size())) return OverLimit();
  return call.input.At(index);
}

Result<Value> First(const FilterCall& call) { return End(call, 0); }

Result<Value> Last(const FilterCall& call) { return End(call, -1); }

Result<Value> Join(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const Result<std::string> separator = TextArgument(call, 0);
  if (!separator) return separator.error();
  std::string out;
  bool first = true;
  for (const Value& item : list->list()) {
    const Value part = AttributeOf(item, call.arguments[1]);
    if (part.undefined()) return ExpressionError("an item that filter 'join' needs is undefined");
    if (!call.meter.MakeJson(part)) return OverLimit();
    const std::string text = ToText(part);
    if (!call.meter.MakeText(text.size() + separator->size())) return OverLimit();
    if (!std::exchange(first, false)) out += *separator;
    out += text;
  }
  return Value::Text(std::move(out));
}

Result<Value> Reverse(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  if (!call.meter.MakeItems(list->list().size())) return OverLimit();
  if (call.input.kind() != Kind::kText) {
    return Value::List({list->list().rbegin(), list->list().rend()});
  }
  std::string text;
  text.reserve(call.input.text().size());
  for (auto item = list->list().rbegin(); item != list->list().rend(); ++item) text += item->text();
  return Value::Text(std::move(text));
}

// Checks that all keys have the same orderable kind and charges for the sort in advance, so that
// the comparisons cannot fail.
Status CheckSortable(const FilterCall& call, const ValueList& keys) {
  const std::size_t rounds = static_cast<std::size_t>(std::bit_width(keys.size()));
  for (const Value& key : keys) {
    const bool sortable = key.is_number() || key.kind() == Kind::kText;
    const bool alike = key.is_number() == keys.front().is_number();
    if (!sortable || !alike) {
      return ExpressionError("filter 'sort' needs numbers only or text only, and an item is " +
                             std::string(KindName(key)));
    }
    const std::size_t bytes = key.kind() == Kind::kText ? key.text().size() : 0;
    if (!call.meter.Operations(rounds * (1 + bytes / 64))) return OverLimit();
  }
  return Ok();
}

Result<Value> Sort(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const Result<ValueList> keys =
      KeysOf(call, list->list(), call.arguments[2], IsTrue(call.arguments[1]));
  if (!keys) return keys.error();
  const Status sortable = CheckSortable(call, *keys);
  if (!sortable) return sortable.error();
  std::vector<std::size_t> order(keys->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  ExpressionMeter paid({UINT32_MAX, SIZE_MAX});
  const bool reverse = IsTrue(call.arguments[0]);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Result<std::strong_ordering> compared = Order((*keys)[a], (*keys)[b], paid);
    return compared && (reverse ? *compared > 0 : *compared < 0);
  });
  ValueList sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(list->list()[i]);
  return Value::List(std::move(sorted));
}

Result<Value> Unique(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const Result<ValueList> keys =
      KeysOf(call, list->list(), call.arguments[1], IsTrue(call.arguments[0]));
  if (!keys) return keys.error();
  std::unordered_set<std::string> seen;
  ValueList items;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    if (!call.meter.MakeJson((*keys)[i])) return OverLimit();
    std::string json = ToJson((*keys)[i]);
    if (!call.meter.MakeText(json.size())) return OverLimit();
    if (seen.insert(std::move(json)).second) items.push_back(list->list()[i]);
  }
  return Value::List(std::move(items));
}

Result<Value> Keys(const FilterCall& call) {
  if (call.input.kind() != Kind::kMap) return WrongInput(call, "a map");
  return InputList(call);
}

Result<Value> Values(const FilterCall& call) {
  const Result<Value> map = InputMap(call);
  if (!map) return map;
  const auto members = map->shared_members();
  if (!call.meter.MakeItems(members->size())) return OverLimit();
  ValueList items;
  items.reserve(members->size());
  for (const auto& [key, member] : *members) items.push_back(member);
  return Value::List(std::move(items));
}

Result<Value> Items(const FilterCall& call) {
  const Result<Value> map = InputMap(call);
  if (!map) return map;
  const auto members = map->shared_members();
  if (!call.meter.MakeItems(3 * members->size())) return OverLimit();
  ValueList items;
  items.reserve(members->size());
  for (const auto& [key, member] : *members) {
    if (!call.meter.MakeText(key.size())) return OverLimit();
    items.push_back(Value::List({Value::Text(key), member}));
  }
  return Value::List(std::move(items));
}

Result<Value> Get(const FilterCall& call) {
  const Value& key = call.arguments[0];
  Value found;
  if (key.kind() == Kind::kText) {
    found = call.input.Get(key.text());
  } else if (key.kind() == Kind::kInt) {
    if (call.input.kind() == Kind::kText && !call.meter.Read(call.input.text().size())) {
      return OverLimit();
    }
    found = call.input.At(key.int_value());
  }
  return found.undefined() ? call.arguments[1] : found;
}

constexpr std::array<ExpressionFilter, 10> kFilters = {{
    {"first", First, {}, 0, true},
    {"last", Last, {}, 0, true},
    {"join", Join, {"separator", "attribute"}},
    {"reverse", Reverse},
    {"sort", Sort, {"reverse", "case_sensitive", "attribute"}},
    {"unique", Unique, {"case_sensitive", "attribute"}},
    {"keys", Keys},
    {"values", Values},
    {"items", Items},
    {"get", Get, {"key", "default"}, 1, true},
}};

}  // namespace

std::span<const ExpressionFilter> ListFilters() { return kFilters; }

}  // namespace everstep
