#include "flow/map_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "event/identifier.h"
#include "flow/duration.h"
#include "flow/nearest.h"

namespace everstep {
namespace {

// Field names of other systems, and our name for the same field.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kForeignNames = {{
    {"id", "stepId"},
    {"step", "stepId"},
    {"needs", "dependsOn"},
    {"depends_on", "dependsOn"},
    {"after", "dependsOn"},
    {"requires", "dependsOn"},
    {"if", "when"},
    {"condition", "when"},
    {"retry", "retryPolicy"},
    {"retries", "retryPolicy"},
    {"with", "inputs"},
    {"args", "inputs"},
    {"params", "inputs"},
    {"loop", "foreach"},
    {"for_each", "foreach"},
    {"onError", "onFailure"},
    {"on_error", "onFailure"},
    {"rollback", "compensate"},
    {"secrets", "secretRefs"},
    {"wait", "waitFor"},
    {"tool", "kind"},
    {"uses", "kind"},
}};

std::string Hint(std::string_view key, std::span<const std::string_view> fields) {
  for (const auto& [foreign, ours] : kForeignNames) {
    if (key == foreign && std::find(fields.begin(), fields.end(), ours) != fields.end()) {
      return std::string("; did you mean '").append(ours).append("'?");
    }
  }
  return DidYouMean(key, fields);
}

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text.append(i + 1 == words.size() ? " or " : ", ");
    text.append(words[i]);
  }
  return text;
}

// The name of a node in a message: its key, or its index in a list.
std::string Called(const Place& place) {
  if (place.index != Place::kNotInList) return "item " + std::to_string(place.index);
  if (place.parent == nullptr) return "the document";
  return "'" + std::string(place.node->key) + "'";
}

}  // namespace

void FaultKind(const Place& place, std::string_view wanted, PlanFaults& faults) {
  std::string message = Called(place) + " must be ";
  message.append(wanted).append(", not ").append(KindName(*place.node));
  const bool text_wanted = wanted.starts_with("text");
  if (place.node->kind == Node::Kind::kNull) {
    message.append("; give it a value or leave it out");
  } else if (text_wanted && !place.node->is_list() && !place.node->is_map()) {
    message.append("; put it in quotes");
  }
  faults.Add(place, std::move(message));
}

std::optional<Milliseconds> ReadDuration(const Place& place, PlanFaults& faults) {
  const Node& node = *place.node;
  std::optional<Milliseconds> duration;
  if (node.kind == Node::Kind::kInt) {
    const std::int64_t value = node.int_value();
    if (value >= 0 && value <= kDurationMax.count()) duration = Milliseconds(value);
  } else if (node.is_text()) {
    duration = ParseDuration(node.text());
  } else {
    FaultKind(place, "a duration such as \"30s\" or a number of milliseconds", faults);
    return std::nullopt;
  }
  if (!duration) {
    faults.Add(place,
               Called(place) +
                   " is not a duration; write \"250ms\", \"30s\", \"1h30m\", \"2d\", an ISO "
                   "8601 duration such as \"PT30S\", or whole milliseconds, up to 100 years");
  }
  return duration;
}

MapReader::MapReader(const Place& place, std::span<const std::string_view> fields,
                     PlanFaults& faults)
    : place_(place), faults_(faults) {
  if (!place.node->is_map()) {
    FaultKind(place, "a map", faults);
    return;
  }
  for (const Node& member : place.node->children()) {
    if (std::find(fields.begin(), fields.end(), member.key) != fields.end()) continue;
    faults.AddAtKey(place.Member(member), "there is no field '" + std::string(member.key) +
                                              "' here" + Hint(member.key, fields));
  }
}

std::optional<Place> MapReader::Find(std::string_view key) const {
  const Node* member = place_.node->Find(key);
  if (member == nullptr) return std::nullopt;
  return place_.Member(*member);
}

std::optional<Place> MapReader::Require(std::string_view key, std::string_view why) const {
  auto found = Find(key);
  if (!found && place_.node->is_map()) {
    faults_.Add(place_, "'" + std::string(key) + "' is missing: " + std::string(why));
  }
  return found;
}

bool MapReader::Text(std::string_view key, std::string& field) const {
  const auto found = Find(key);
  if (!found) return false;
  if (!found->node->is_text()) {
    FaultKind(*found, "text", faults_);
    return false;
  }
  field = found->node->text();
  return true;
}

bool MapReader::Name(std::string_view key, std::string& field) const {
  std::string text;
  if (!Text(key, text)) return false;
  if (!IsName(text)) {
    faults_.Add(*Find(key), "'" + std::string(key) +
                                "' must have 1 to 256 characters, without '|' or control "
                                "characters");
    return false;
  }
  field = std::move(text);
  return true;
}

void MapReader::Flag(std::string_view key, bool& field) const {
  const auto found = Find(key);
  if (!found) return;
  if (found->node->kind != Node::Kind::kBool) return FaultKind(*found, "true or false", faults_);
  field = found->node->bool_value();
}

void MapReader::Texts(std::string_view key, std::vector<std::string>& field) const {
  const auto found = Find(key);
  if (!found) return;
  if (!found->node->is_list()) return FaultKind(*found, "a list of text values", faults_);
  for (std::size_t i = 0; i < found->node->children().size(); ++i) {
    const Place item = found->Item(i);
    if (!item.node->is_text()) {
      FaultKind(item, "text", faults_);
    } else if (item.node->text().empty()) {
      faults_.Add(item, "an item of '" + std::string(key) + "' is empty; remove it");
    } else {
      field.emplace_back(item.node->text());
    }
  }
}

bool MapReader::Duration(std::string_view key, std::optional<Milliseconds>& field) const {
  const auto found = Find(key);
  if (!found) return false;
  const auto duration = ReadDuration(*found, faults_);
  if (!duration) return false;
  if (duration->count() == 0) {
    faults_.Add(*found,
                "'" + std::string(key) + "' must be longer than zero; leave it out for no limit");
    return false;
  }
  field = duration;
  return true;
}

void MapReader::Integer(std::string_view key, std::int64_t min, std::int64_t max,
                        std::int64_t& field) const {
  const auto found = Find(key);
  if (!found) return;
  if (found->node->kind != Node::Kind::kInt) {
    return FaultKind(*found, "a whole number", faults_);
  }
  const std::int64_t value = found->node->int_value();
  if (value < min || value > max) {
    return faults_.Add(*found, "'" + std::string(key) + "' must be from " + std::to_string(min) +
                                   " to " + std::to_string(max));
  }
  field = value;
}

void MapReader::Word(std::string_view key, std::span<const std::string_view> words,
                     std::size_t& field) const {
  const auto found = Find(key);
  if (!found) return;
  if (!found->node->is_text()) return FaultKind(*found, "text: " + Joined(words), faults_);
  const std::string_view text = found->node->text();
  const auto word = std::find(words.begin(), words.end(), text);
  if (word == words.end()) {
    return faults_.Add(*found, "'" + std::string(key) + "' must be " + Joined(words) + ", not '" +
                                   std::string(text) + "'" + DidYouMean(text, words));
  }
  field = static_cast<std::size_t>(word - words.begin());
}

}  // namespace everstep
