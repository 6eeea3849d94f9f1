#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value.h"
#include "flow/expression.h"

namespace everstep {

// The remaining budget of one evaluation. Each function charges for work and returns false if the
// budget is exceeded. A failed charge empties the budget, so that later charges fail too. The
// caller must then return `OverLimit`.
class ExpressionMeter {
 public:
  explicit ExpressionMeter(const ExpressionLimits& limits)
      : operations_left_(limits.operations_max),
        bytes_left_(limits.bytes_max),
        shared_left_(limits.operations_left) {}

  [[nodiscard]] bool Operations(std::size_t count) {
    return Take(count, operations_left_) && (shared_left_ == nullptr || Take(count, *shared_left_));
  }

  std::size_t operations_left() const { return operations_left_; }

  // Charges for reading that many bytes of text.
  [[nodiscard]] bool Read(std::size_t bytes) { return Operations(1 + bytes / 64); }

  // Charges for reading a whole value: each item, each text.
  [[nodiscard]] bool Read(const Value& value);

  // Charges for looking up a member of a map.
  [[nodiscard]] bool FindMember(const Value& map) { return Operations(map.member_count() / 32); }

  // Charges for creating text, which includes reading it.
  [[nodiscard]] bool MakeText(std::size_t bytes) { return Read(bytes) && Take(bytes, bytes_left_); }

  // Charges for creating a list or map of that many items.
  [[nodiscard]] bool MakeItems(std::size_t count) {
    return Operations(count) && count <= bytes_left_ / sizeof(Value) + 1 &&
           Take(count * sizeof(Value), bytes_left_);
  }

  // Charges for writing the value as JSON.
  [[nodiscard]] bool MakeJson(const Value& value);

 private:
  static bool Take(std::size_t count, std::size_t& left) {
    const bool enough = count <= left;
    left = enough ? left - count : 0;
    return enough;
  }

  std::size_t operations_left_;
  std::size_t bytes_left_;
  std::size_t* const shared_left_;
};

// Returns kExpressionFailed with that message.
Error ExpressionError(std::string message);
Error OverLimit();
// The error for a result that exceeds kResultBytesMax or is nested too deep.
Error TooLarge();

}  // namespace everstep
