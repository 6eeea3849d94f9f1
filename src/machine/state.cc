#include "machine/state.h"

namespace everstep {
namespace {

constexpr std::array<std::string_view, 8> kRunStatusNames = {
    "ABSENT", "PENDING", "APPROVED", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED",
};

constexpr std::array<std::string_view, 17> kEntityStatusNames = {
    "ABSENT",  "PENDING",   "RUNNING",  "SUCCESS",  "FAILED",        "SKIPPED",
    "OPEN",    "CLOSED",    "ACTIVE",   "DISPOSED", "CONFLICTED",    "WAITING",
    "ELAPSED", "CANCELLED", "ACCEPTED", "REJECTED", "UNRECOVERABLE",
};

}  // namespace

std::string_view Name(RunStatus status) {
  const auto index = static_cast<std::size_t>(status);
  return index < kRunStatusNames.size() ? kRunStatusNames[index] : "UNKNOWN";
}

std::optional<RunStatus> RunStatusNamed(std::string_view name) {
  // A stored run is never ABSENT, so callers cannot use that name.
  for (std::size_t index = 1; index < kRunStatusNames.size(); ++index) {
    if (kRunStatusNames[index] == name) return static_cast<RunStatus>(index);
  }
  return std::nullopt;
}

std::string_view Name(EntityStatus status) {
  const auto index = static_cast<std::size_t>(status);
  return index < kEntityStatusNames.size() ? kEntityStatusNames[index] : "UNKNOWN";
}

}  // namespace everstep
