#include <algorithm>
#include <array>
#include <string>

#include "flow/expression_filter.h"
#include "flow/expression_operators.h"
#include "flow/filter_input.h"
#include "flow/nearest.h"

namespace everstep {
namespace {

using Op = ExpressionOp;

struct Comparison {
  std::string_view name;
  Op op;
};

constexpr std::array<Comparison, 14> kComparisons = {{
    {"==", Op::kEqual},
    {"eq", Op::kEqual},
    {"equalto", Op::kEqual},
    {"!=", Op::kNotEqual},
    {"ne", Op::kNotEqual},
    {"<", Op::kLess},
    {"lt", Op::kLess},
    {"<=", Op::kLessEqual},
    {"le", Op::kLessEqual},
    {">", Op::kGreater},
    {"gt", Op::kGreater},
    {">=", Op::kGreaterEqual},
    {"ge", Op::kGreaterEqual},
    {"in", Op::kIn},
}};

// Whether an item is selected: by its truth value, by a test such as 'defined', or by a comparison.
Result<bool> IsChosen(const FilterCall& call, const std::string& test, const Value& attribute) {
  if (test.empty()) return IsTrue(attribute);
  const auto tests = KindTests();
  const auto kind = std::ranges::find(tests, test);
  if (kind != tests.end()) {
    return IsOfKind(attribute, static_cast<std::uint32_t>(kind - tests.begin()));
  }
  const auto* comparison = std::ranges::find(kComparisons, test, &Comparison::name);
  if (comparison == kComparisons.end()) {
    return ExpressionError("unknown test '" + test + "'" + DidYouMean(test, tests));
  }
  return CompareValues(comparison->op, attribute, call.arguments[2], call.meter);
}

Result<Value> Choose(const FilterCall& call, bool wanted) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const Result<std::string> path = TextArgument(call, 0);
  const Result<std::string> test = TextArgument(call, 1);
  if (!path) return path.error();
  if (!test) return test.error();
  ValueList chosen;
  for (const Value& item : list->list()) {
    if (!call.meter.Read(path->size()) || !call.meter.MakeItems(1)) return OverLimit();
    const Result<bool> fits = IsChosen(call, *test, AttributeOf(item, call.arguments[0]));
    if (!fits) return fits.error();
    if (*fits == wanted) chosen.push_back(item);
  }
  return Value::List(std::move(chosen));
}

Result<Value> SelectAttribute(const FilterCall& call) { return Choose(call, true); }

Result<Value> RejectAttribute(const FilterCall& call) { return Choose(call, false); }

Result<Value> MapAttribute(const FilterCall& call, const ValueList& list) {
  const Result<std::string> path = TextArgument(call, 1);
  if (!path) return path.error();
  ValueList items;
  items.reserve(list.size());
  for (const Value& item : list) {
    if (!call.meter.Read(path->size()) || !call.meter.MakeItems(1)) return OverLimit();
    const Value found = AttributeOf(item, call.arguments[1]);
    items.push_back(found.undefined() ? call.arguments[2] : found);
  }
  return Value::List(std::move(items));
}

Result<Value> MapFilter(const FilterCall& call, const ValueList& list) {
  const Result<std::string> name = TextArgument(call, 0);
  if (!name) return name.error();
  const ExpressionFilter* filter = FindFilter(*name);
  if (filter == nullptr) {
    return ExpressionError("unknown filter '" + *name + "'" + DidYouMean(*name, FilterNames()));
  }
  if (filter->required > 0 || filter->name == call.name) {
    return ExpressionError("filter '" + *name + "' cannot be used in map(): it needs an argument");
  }
  ValueList items;
  items.reserve(list.size());
  for (const Value& item : list) {
    if (!call.meter.MakeItems(1)) return OverLimit();
    if (item.undefined() && !filter->takes_undefined) {
      return ExpressionError("an item that filter '" + *name + "' needs is undefined");
    }
    Result<Value> mapped = filter->apply({filter->name, item, {}, call.meter});
    if (!mapped) return mapped;
    items.push_back(*std::move(mapped));
  }
  return Value::List(std::move(items));
}

Result<Value> Map(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const bool by_filter = !call.arguments[0].undefined();
  if (by_filter == !call.arguments[1].undefined()) {
    return ExpressionError("filter 'map' needs attribute='name', or the name of a filter");
  }
  return by_filter ? MapFilter(call, list->list()) : MapAttribute(call, list->list());
}

constexpr std::array<ExpressionFilter, 3> kFilters = {{
    {"map", Map, {"filter", "attribute", "default"}},
    {"selectattr", SelectAttribute, {"attribute", "test", "value"}, 1},
    {"rejectattr", RejectAttribute, {"attribute", "test", "value"}, 1},
}};

}  // namespace

std::span<const ExpressionFilter> SelectionFilters() { return kFilters; }

}  // namespace everstep
