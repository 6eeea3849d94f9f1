#include "work/merge_tool.h"

#include <unordered_map>

namespace everstep {
namespace {

TaskOutcome BadValues(std::string message) {
  TaskOutcome outcome;
  outcome.succeeded = false;
  outcome.error_code = "BAD_INPUT";
  outcome.error_message = std::move(message);
  outcome.category = "USER";
  return outcome;
}

Value JoinedLists(const ValueList& lists) {
  ValueList items;
  for (const Value& list : lists) {
    items.insert(items.end(), list.list().begin(), list.list().end());
  }
  return Value::List(std::move(items));
}

// A repeated member keeps the position of its first and the value of its last occurrence.
Value JoinedMaps(const ValueList& maps) {
  ValueMap members;
  std::unordered_map<std::string, std::size_t> places;
  for (const Value& map : maps) {
    for (auto& [key, value] : map.members()) {
      const auto [place, is_new] = places.try_emplace(key, members.size());
      if (is_new) {
        members.emplace_back(key, value);
      } else {
        members[place->second].second = value;
      }
    }
  }
  return Value::Map(std::move(members));
}

}  // namespace

TaskOutcome MergeTool::Run(const Task& task) const {
  TaskOutcome outcome;
  const auto inputs = ValueFromJson(task.inputs.empty() ? "{}" : task.inputs);
  if (!inputs) return BadValues("inputs: " + inputs.error().message);
  const Value values = inputs->Get("values");
  if (values.undefined() || values.kind() == Value::Kind::kNull) {
    outcome.result = task.inputs;
    return outcome;
  }
  if (values.kind() != Value::Kind::kList) {
    return BadValues("values must be a list of maps or a list of lists");
  }
  ValueList given;  // without nulls, since skipped steps have no result
  std::size_t maps = 0;
  std::size_t lists = 0;
  for (const Value& value : values.list()) {
    if (value.undefined() || value.kind() == Value::Kind::kNull) continue;
    given.push_back(value);
    maps += value.kind() == Value::Kind::kMap ? 1 : 0;
    lists += value.kind() == Value::Kind::kList ? 1 : 0;
  }
  if (maps != given.size() && lists != given.size()) {
    return BadValues("values must all be maps or all be lists");
  }
  outcome.result = ToJson(lists > 0 ? JoinedLists(given) : JoinedMaps(given));
  return outcome;
}

}  // namespace everstep
