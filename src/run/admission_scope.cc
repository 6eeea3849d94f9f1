#include "run/admission_scope.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

std::string Number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

}  // namespace

std::string_view ToString(AdmissionLevel level) {
  switch (level) {
    case AdmissionLevel::kEngine:
      return "engine";
    case AdmissionLevel::kTenant:
      return "tenant";
    case AdmissionLevel::kProject:
      return "project";
    case AdmissionLevel::kKey:
      return "key";
  }
  EVERSTEP_ASSERT(false && "an unknown level");
  return "";
}

std::string_view ToString(AdmissionBound bound) {
  switch (bound) {
    case AdmissionBound::kNone:
      return "turn";
    case AdmissionBound::kRunning:
      return "running";
    case AdmissionBound::kRate:
      return "rate";
    case AdmissionBound::kQueue:
      return "queue";
    case AdmissionBound::kTime:
      return "time";
  }
  EVERSTEP_ASSERT(false && "an unknown bound");
  return "";
}

AdmissionScope::AdmissionScope(AdmissionLevel level, std::string tenant, std::string name,
                               const AdmissionLimit& limit)
    : level_(level),
      tenant_(std::move(tenant)),
      name_(std::move(name)),
      weight_(std::max<std::uint32_t>(1, limit.weight)),
      running_max_(limit.running_max),
      per_second_(limit.starts_per_second) {
  if (level == AdmissionLevel::kKey && running_max_ == 0) running_max_ = 1;
  if (per_second_ > 0) bucket_.emplace(per_second_, limit.starts_burst);
}

AdmissionBound AdmissionScope::Blocks(Timestamp now) {
  if (running_max_ > 0 && running_ >= running_max_) return AdmissionBound::kRunning;
  if (bucket_ && bucket_->NextAt(now) > now) return AdmissionBound::kRate;
  return AdmissionBound::kNone;
}

Timestamp AdmissionScope::TokenAt(Timestamp now) {
  return bucket_ ? std::max(now, bucket_->NextAt(now)) : now;
}

Timestamp AdmissionScope::ForgetAt(Timestamp now) {
  return bucket_ ? std::max(now, bucket_->FullAt(now)) : now;
}

std::string AdmissionScope::Sentence(AdmissionBound bound, Timestamp now) {
  std::string who(level_ == AdmissionLevel::kKey ? "concurrency key" : ToString(level_));
  if (level_ == AdmissionLevel::kEngine) who = "the engine";
  if (!name_.empty()) who += " " + name_;
  if (bound == AdmissionBound::kRunning) {
    std::string text = who + " has " + std::to_string(running_) + " of at most " +
                       std::to_string(running_max_) + (running_max_ == 1 ? " run" : " runs") +
                       " running";
    if (running_max_ == 1) text += ": " + latest_.value();
    return text;
  }
  return who + " starts at most " + Number(per_second_) + " runs per second, the next at " +
         FormatTimestamp(TokenAt(now));
}

void AdmissionScope::Start(const RunId& run_id, Timestamp now) {
  EVERSTEP_ASSERT(running_max_ == 0 || running_ < running_max_);
  Resume(run_id);
  if (bucket_) {
    const bool taken = bucket_->TryTake(now);
    EVERSTEP_ASSERT(taken);
  }
}

void AdmissionScope::Resume(const RunId& run_id) {
  ++running_;
  latest_ = run_id;
}

void AdmissionScope::End() {
  EVERSTEP_ASSERT(running_ > 0);
  --running_;
}

void AdmissionScope::GiveBackToken() {
  if (bucket_) bucket_->GiveBack();
}

}  // namespace everstep
