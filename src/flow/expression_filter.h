#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "everstep/result.h"
#include "flow/expression_meter.h"
#include "flow/value.h"

namespace everstep {

inline constexpr std::size_t kFilterParametersMax = 3;

// An argument that is not given is undefined.
struct FilterCall {
  std::string_view name;
  const Value& input;
  const std::array<Value, kFilterParametersMax>& arguments;
  ExpressionMeter& meter;
};

// `input | name(arguments)`: a pure function that charges the meter before it does the work. Its
// messages say what is wrong with the value, not what the value is: that may be a secret.
struct ExpressionFilter {
  std::string_view name;
  Result<Value> (*apply)(const FilterCall& call);
  std::array<std::string_view, kFilterParametersMax> parameters{};
  std::uint8_t required = 0;     // that many of the parameters must be given
  bool takes_undefined = false;  // else an undefined input is an error
};

// Null: there is none.
const ExpressionFilter* FindFilter(std::string_view name);
std::span<const std::string_view> FilterNames();

std::span<const ExpressionFilter> TextFilters();
std::span<const ExpressionFilter> NumberFilters();
std::span<const ExpressionFilter> ListFilters();
std::span<const ExpressionFilter> SelectionFilters();
std::span<const ExpressionFilter> EncodingFilters();
std::span<const ExpressionFilter> KindFilters();

}  // namespace everstep
