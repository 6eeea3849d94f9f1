#include "work/outcome_record.h"

#include <utility>

namespace everstep {
namespace {

TaskOutcome NotKept(const Error& error) {
  return TaskOutcome::Failure("ARTIFACT_FAILED", error.message, true);
}

// Masks the secrets in JSON. Returns false if it is not JSON.
bool MaskJson(std::string& json, const SecretMask& mask) {
  if (json.empty() || mask.empty()) return true;
  const auto value = ValueFromJson(json);
  if (!value) return false;
  json = ToJson(mask.Mask(*value));
  return true;
}

}  // namespace

Status OutcomeRecord::MoveResult(std::string& result, ValueList& refs) const {
  if (result.size() <= inline_bytes_max_) return Ok();
  auto stored = artifacts_.Write(result, {"result", "application/json", ""});
  if (!stored) return std::move(stored).error();
  result = ToJson(stored->InResult());
  refs.push_back(stored->ToValue());
  return Ok();
}

TaskOutcome OutcomeRecord::Of(ToolOutcome outcome, const SecretMask& mask) const {
  TaskOutcome recorded;
  recorded.succeeded = outcome.succeeded;
  recorded.error_code = std::move(outcome.error_code);
  recorded.error_message = mask.Mask(outcome.error_message);
  recorded.retryable = outcome.retryable;
  recorded.permanent = outcome.permanent;
  recorded.retry_after = outcome.retry_after;
  if (!outcome.succeeded) {
    recorded.category = std::move(outcome.category);
    if (!outcome.details.undefined()) recorded.details = ToJson(mask.Mask(outcome.details));
  } else {
    recorded.result = ToJson(mask.Mask(outcome.result));
  }
  ValueList refs;
  for (const ArtifactRef& ref : outcome.artifacts) refs.push_back(mask.Mask(ref.ToValue()));
  const Status moved = MoveResult(recorded.result, refs);
  if (!moved) return NotKept(moved.error());
  if (!refs.empty()) recorded.artifacts = ToJson(Value::List(std::move(refs)));
  return recorded;
}

TaskOutcome OutcomeRecord::Of(TaskOutcome outcome, const SecretMask& mask) const {
  const bool is_json = MaskJson(outcome.result, mask) && MaskJson(outcome.details, mask) &&
                       MaskJson(outcome.artifacts, mask);
  if (!is_json) {
    return TaskOutcome::Failure("BAD_OUTPUT", "the worker's report contains invalid JSON", false);
  }
  if (!mask.empty()) outcome.error_message = mask.Mask(outcome.error_message);
  if (outcome.result.size() <= inline_bytes_max_) return outcome;
  const auto known = ValueFromJson(outcome.artifacts.empty() ? "[]" : outcome.artifacts);
  ValueList refs;
  if (known && known->kind() == Value::Kind::kList) refs = known->list();
  const Status moved = MoveResult(outcome.result, refs);
  if (!moved) return NotKept(moved.error());
  outcome.artifacts = ToJson(Value::List(std::move(refs)));
  return outcome;
}

}  // namespace everstep
