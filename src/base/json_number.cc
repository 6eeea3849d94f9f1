#include "base/json_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/assert.h"

namespace everstep {
namespace {

// value = 0.DIGITS * 10^point
struct Decimal {
  std::array<char, 20> digits;
  int size = 0;
  int point = 0;

  std::string_view text() const { return {digits.data(), static_cast<std::size_t>(size)}; }
};

Decimal ShortestDecimal(double positive) {
  std::array<char, 32> text;  // "d.ddddde-ddd"
  const auto [end, error] =
      std::to_chars(text.begin(), text.end(), positive, std::chars_format::scientific);
  EVERSTEP_ASSERT(error == std::errc());
  Decimal decimal;
  const char* at = text.begin();
  for (; *at != 'e'; ++at) {
    if (*at != '.') decimal.digits[static_cast<std::size_t>(decimal.size++)] = *at;
  }
  ++at;
  if (*at == '+') ++at;
  int exponent = 0;
  std::from_chars(at, end, exponent);
  decimal.point = exponent + 1;
  return decimal;
}

}  // namespace

void AppendJsonNumber(double value, std::string& out) {
  EVERSTEP_ASSERT(std::isfinite(value));
  if (value == 0) {
    out.push_back('0');
    return;
  }
  if (value < 0) out.push_back('-');
  const Decimal decimal = ShortestDecimal(std::fabs(value));
  const std::string_view digits = decimal.text();
  const int size = decimal.size;
  const int point = decimal.point;
  if (size <= point && point <= 21) {
    out.append(digits).append(static_cast<std::size_t>(point - size), '0');
  } else if (0 < point && point <= 21) {
    const auto whole = static_cast<std::size_t>(point);
    out.append(digits.substr(0, whole)).append(".").append(digits.substr(whole));
  } else if (-6 < point && point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out.push_back(digits[0]);
    if (size > 1) out.append(".").append(digits.substr(1));
    out.append(point > 0 ? "e+" : "e-").append(std::to_string(std::abs(point - 1)));
  }
}

}  // namespace everstep
