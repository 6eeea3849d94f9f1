#include "flow/nearest.h"

#include <algorithm>
#include <vector>

namespace everstep {
namespace {

// Longer words are not considered to be typing errors.
constexpr std::size_t kWordMax = 64;

}  // namespace

std::size_t EditDistance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[other.size()];
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kWordMax) return {};
  std::string_view nearest;
  std::size_t nearest_distance = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view candidate : known) {
    // The distance is at least the difference in length.
    if (candidate.size() >= word.size() + nearest_distance) continue;
    const std::size_t distance = EditDistance(word, candidate);
    if (distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace everstep
