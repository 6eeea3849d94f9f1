#include "serve/readiness.h"

#include <utility>

namespace everstep {
namespace {

constexpr std::chrono::seconds kFresh{1};
// A look that takes longer does not find a healthy disk.
constexpr std::chrono::seconds kLookMax{10};

}  // namespace

std::optional<Readiness::Answer> Readiness::Ask(Time now) {
  const std::lock_guard lock(mutex_);
  if (!looking_ && (!looked_ || now - *looked_ >= kFresh)) {
    looking_ = true;
    looked_ = now;
    return std::nullopt;
  }
  if (looking_ && now - *looked_ > kLookMax) return Answer{false, "the disk does not answer\n"};
  return latest_;
}

Readiness::Answer Readiness::Look() {
  Answer answer = look_();
  const std::lock_guard lock(mutex_);
  looking_ = false;
  latest_ = answer;
  return answer;
}

}  // namespace everstep
