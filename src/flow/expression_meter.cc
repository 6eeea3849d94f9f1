#include "flow/expression_meter.h"

namespace everstep {

bool ExpressionMeter::Read(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kText:
      return Read(value.text().size());
    case Value::Kind::kList:
      if (!Operations(1)) return false;
      for (const Value& item : value.list()) {
        if (!Read(item)) return false;
      }
      return true;
    case Value::Kind::kMap: {
      if (!Operations(1)) return false;
      const auto members = value.shared_members();
      for (const auto& [key, member] : *members) {
        if (!Read(key.size()) || !Read(member)) return false;
      }
      return true;
    }
    default:
      return Operations(1);
  }
}

bool ExpressionMeter::MakeJson(const Value& value) {
  return FitsJson(value, bytes_left_) && Read(value);
}

Error ExpressionError(std::string message) {
  return {ErrorCode::kExpressionFailed, std::move(message), {}};
}

Error TooLarge() {
  return ExpressionError("the result is larger than " + std::to_string(kResultBytesMax) +
                         " bytes or nested deeper than " + std::to_string(kValueDepthMax));
}

Error OverLimit() {
  return ExpressionError(
      "the expression needs more time or memory than the limits allow; do less at once");
}

}  // namespace everstep
