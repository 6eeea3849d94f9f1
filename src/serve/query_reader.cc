#include "serve/query_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/percent_decode.h"
#include "flow/duration.h"
#include "flow/nearest.h"
#include "flow/quoted.h"
#include "serve/reading.h"

namespace everstep {
namespace {

constexpr std::size_t kParametersMax = 64;

}  // namespace

QueryReader::QueryReader(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    if (parameters_.size() == kParametersMax) {
      faults_.push_back({"", "has more than " + std::to_string(kParametersMax) + " parameters"});
      return;
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = PercentDecode(pair.substr(0, equals), PlusMeans::kSpace);
    auto value = PercentDecode(pair.substr(std::min(equals + 1, pair.size())), PlusMeans::kSpace);
    if (!name || !value) {
      const std::string where = name ? "?" + *name : std::string();
      faults_.push_back({where, "must be percent-encoded UTF-8 without control characters"});
      if (!name) continue;
      value.emplace();
    }
    const bool repeated =
        std::any_of(parameters_.begin(), parameters_.end(),
                    [&](const Parameter& parameter) { return parameter.name == *name; });
    if (repeated) {
      faults_.push_back({"?" + *name, "is given twice"});
    } else {
      parameters_.push_back({*std::move(name), *std::move(value)});
    }
  }
}

const std::string* QueryReader::Find(std::string_view name) {
  EVERSTEP_ASSERT(known_count_ < known_.size());
  known_[known_count_++] = name;
  for (Parameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    parameter.asked = true;
    return &parameter.value;
  }
  return nullptr;
}

void QueryReader::Refuse(std::string_view name, std::string message) {
  faults_.push_back({"?" + std::string(name), std::move(message)});
}

std::optional<std::string> QueryReader::Text(std::string_view name, const TextRule& rule) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (std::string fault = FaultOfText(*value, rule); !fault.empty()) {
    Refuse(name, std::move(fault));
    return std::nullopt;
  }
  return *value;
}

std::optional<std::int64_t> QueryReader::Integer(std::string_view name, std::int64_t min,
                                                 std::int64_t max) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto read = std::from_chars(value->data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= min && number <= max) return number;
  Refuse(name, "must be " + RangeText(min, max));
  return std::nullopt;
}

std::optional<bool> QueryReader::Flag(std::string_view name) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (*value == "true" || *value == "false") return *value == "true";
  Refuse(name, "must be true or false");
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> QueryReader::Duration(std::string_view name,
                                                               std::chrono::milliseconds max) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const auto read = ParseDuration(*value);
  if (read && *read <= max) return read;
  Refuse(name, read ? "must be at most " + FormatDuration(max) : std::string(kDurationExpected));
  return std::nullopt;
}

std::optional<Timestamp> QueryReader::Time(std::string_view name) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  // A "+" of an offset that was sent unescaped was decoded to a space; valid times contain no
  // spaces.
  std::string text = *value;
  if (text.size() > 6 && text[text.size() - 6] == ' ') text[text.size() - 6] = '+';
  const auto read = ParseTimestamp(text);
  if (!read) Refuse(name, std::string(kTimeExpected));
  return read;
}

std::optional<std::size_t> QueryReader::Word(std::string_view name,
                                             std::span<const std::string_view> words) {
  const std::string* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  Refuse(name, FaultOfWord(*value, words));
  return std::nullopt;
}

std::vector<std::size_t> QueryReader::Words(std::string_view name,
                                            std::span<const std::string_view> words) {
  std::vector<std::size_t> indexes;
  const std::string* value = Find(name);
  if (value == nullptr) return indexes;
  std::string_view rest = *value;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    const auto found = std::find(words.begin(), words.end(), word);
    const auto index = static_cast<std::size_t>(found - words.begin());
    if (found == words.end()) {
      Refuse(name, FaultOfWord(word, words));
      return {};
    }
    if (std::find(indexes.begin(), indexes.end(), index) == indexes.end()) {
      indexes.push_back(index);
    }
    if (end == rest.size()) return indexes;
    rest.remove_prefix(end + 1);
  }
}

Status QueryReader::Finish() {
  for (const Parameter& parameter : parameters_) {
    if (parameter.asked) continue;
    Refuse(parameter.name, "unknown parameter " + Quoted(parameter.name) +
                               DidYouMean(parameter.name, std::span(known_).first(known_count_)));
  }
  if (faults_.empty()) return Ok();
  std::string message = "the query has " + std::to_string(faults_.size()) + " faults";
  if (faults_.size() == 1) {
    const Fault& only = faults_.front();
    message = (only.pointer.empty() ? "the query" : only.pointer) + ": " + only.message;
  }
  return Error{ErrorCode::kInvalidArgument, std::move(message), faults_};
}

}  // namespace everstep
