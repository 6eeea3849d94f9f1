#include "base/unique_keys.h"

#include <string_view>
#include <unordered_set>

namespace everstep {
namespace {

// Up to this size, comparing all pairs is faster than hashing.
constexpr std::size_t kSmallMap = 16;

}  // namespace

bool KeysAreUnique(const ValueMap& members) {
  if (members.size() > kSmallMap) {
    std::unordered_set<std::string_view> keys;
    keys.reserve(members.size());
    for (const ValueMember& member : members) {
      if (!keys.insert(member.first).second) return false;
    }
    return true;
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[i].first == members[j].first) return false;
    }
  }
  return true;
}

}  // namespace everstep
