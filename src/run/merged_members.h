#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/value.h"

namespace everstep {

// The members of `base` and of `changes`; a change of a member keeps its place. Takes time in
// proportion to both: operators send the changes. Changes that are not a map change nothing.
inline Value MergedMembers(const Value& base, const Value& changes) {
  if (changes.kind() != Value::Kind::kMap) return base;
  ValueMap members = base.kind() == Value::Kind::kMap ? base.members() : ValueMap();
  ValueMap changed = changes.members();
  members.reserve(members.size() + changed.size());  // the names in `places` stay where they are
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < members.size(); ++i) places.emplace(members[i].first, i);
  for (ValueMember& change : changed) {
    const auto known = places.find(change.first);
    if (known != places.end()) {
      members[known->second].second = std::move(change.second);
      continue;
    }
    members.push_back(std::move(change));
    places.emplace(members.back().first, members.size() - 1);
  }
  return Value::Map(std::move(members));
}

}  // namespace everstep
