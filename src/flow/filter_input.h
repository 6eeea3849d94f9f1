#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "everstep/result.h"
#include "flow/expression_filter.h"
#include "flow/value.h"

namespace everstep {

// What filters ask of their input and arguments. Each answers kExpressionFailed with what is
// needed when it is something else.

Error WrongInput(const FilterCall& call, std::string_view needed);
Error WrongArgument(const FilterCall& call, std::size_t argument, std::string_view needed);

// Text; numbers and booleans as text.
Result<Value> InputText(const FilterCall& call);
// A list; of a map its keys, of text its characters.
Result<Value> InputList(const FilterCall& call);
Result<Value> InputMap(const FilterCall& call);

// The argument, or `otherwise` when it is not given.
Result<std::int64_t> IntArgument(const FilterCall& call, std::size_t argument,
                                 std::int64_t otherwise);
Result<std::string> TextArgument(const FilterCall& call, std::size_t argument,
                                 std::string_view otherwise = "");

// The member of `value` that `attribute` names: undefined is the value itself, text a path such as
// "user.name" or "tags.0", a whole number an index.
Value AttributeOf(const Value& value, const Value& attribute);

// What items are ordered and told apart by: the attribute, in lower case unless case matters. One
// for each item of `list`.
Result<ValueList> KeysOf(const FilterCall& call, const ValueList& list, const Value& attribute,
                         bool case_matters);

}  // namespace everstep
