#include "wire/api_types.h"

#include <utility>

namespace everstep {

AppendAnswer AppendAnswer::Of(Result<Appended> result) {
  AppendAnswer answer;
  if (result) {
    answer.appended = *std::move(result);
    return answer;
  }
  answer.code = Name(result.error().code);
  answer.detail = std::move(result.error().message);
  answer.faults = std::move(result.error().faults);
  return answer;
}

Result<Appended> AppendAnswer::ToResult() && {
  if (appended) return *std::move(appended);
  const auto known = ErrorCodeNamed(code);
  return Error{known.value_or(ErrorCode::kServerUnavailable), std::move(detail), std::move(faults)};
}

}  // namespace everstep
