#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/value.h"
#include "everstep/result.h"
#include "flow/expression_filter.h"

namespace everstep {

// Conversions of a filter's input and arguments. Each returns kExpressionFailed, with the type that
// is needed, for a value of another type.

Error WrongInput(const FilterCall& call, std::string_view needed);
Error WrongArgument(const FilterCall& call, std::size_t argument, std::string_view needed);

// Accepts text, and numbers and booleans converted to text.
Result<Value> InputText(const FilterCall& call);
// Accepts a list, the keys of a map, or the characters of text.
Result<Value> InputList(const FilterCall& call);
Result<Value> InputMap(const FilterCall& call);

// The argument, or `otherwise` if it is omitted.
Result<std::int64_t> IntArgument(const FilterCall& call, std::size_t argument,
                                 std::int64_t otherwise);
Result<std::string> TextArgument(const FilterCall& call, std::size_t argument,
                                 std::string_view otherwise = "");

// The part of `value` that `attribute` selects. Undefined selects the value itself, text is a path
// such as "user.name" or "tags.0", and a whole number is an index.
Value AttributeOf(const Value& value, const Value& attribute);

// The keys by which items are compared: for each item of `list` the attribute, in lower case unless
// `case_matters`.
Result<ValueList> KeysOf(const FilterCall& call, const ValueList& list, const Value& attribute,
                         bool case_matters);

}  // namespace everstep
