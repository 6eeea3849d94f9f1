#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/value.h"
#include "everstep/result.h"
#include "flow/expression_meter.h"

namespace everstep {

inline constexpr std::size_t kFilterParametersMax = 3;

// Omitted arguments are undefined.
struct FilterCall {
  std::string_view name;
  const Value& input;
  const std::array<Value, kFilterParametersMax>& arguments;
  ExpressionMeter& meter;
};

// `input | name(arguments)`: a pure function that charges the meter before it does the work. Its
// error messages must not contain the value, which may be a secret.
struct ExpressionFilter {
  std::string_view name;
  Result<Value> (*apply)(const FilterCall& call);
  std::array<std::string_view, kFilterParametersMax> parameters{};
  std::uint8_t required = 0;     // how many of the parameters, from the first, are mandatory
  bool takes_undefined = false;  // if false, an undefined input is an error
};

// Returns null if there is no such filter.
const ExpressionFilter* FindFilter(std::string_view name);
std::span<const std::string_view> FilterNames();

std::span<const ExpressionFilter> TextFilters();
std::span<const ExpressionFilter> NumberFilters();
std::span<const ExpressionFilter> ListFilters();
std::span<const ExpressionFilter> SelectionFilters();
std::span<const ExpressionFilter> EncodingFilters();
std::span<const ExpressionFilter> KindFilters();

}  // namespace everstep
