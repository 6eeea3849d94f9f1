#include "arguments.h"

#include <algorithm>
#include <cctype>

#include "base/assert.h"
#include "flow/nearest.h"
#include "option_values.h"

namespace everstep::cli {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string Joined(std::span<const std::string_view> words, std::string_view separator) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text.append(separator);
    text.append(word);
  }
  return text;
}

std::string Suggestion(std::string_view dashes, std::string_view word,
                       std::span<const std::string_view> known) {
  const auto nearest = Nearest(word, known);
  if (!nearest) return {};
  return "; did you mean " + std::string(dashes) + std::string(*nearest) + "?";
}

std::string UnknownOption(const Command& command, std::string_view name) {
  std::vector<std::string_view> known = {"help"};
  for (const OptionSpec& option : command.options) known.push_back(option.name);
  return "unknown option --" + std::string(name) + Suggestion("--", name, known);
}

std::string_view ShapeOf(OptionKind kind) {
  switch (kind) {
    case OptionKind::kCount:
      return "a whole number";
    case OptionKind::kBytes:
      return "a number of bytes such as 4096, 64K or 2G";
    case OptionKind::kDuration:
      return "a duration such as 90s, 5m or 30d";
    case OptionKind::kMoment:
      return "a time such as 2026-02-11T10:30:00Z, or 5m for five minutes ago";
    default:
      return "a value";
  }
}

const OptionSpec* FindOption(const Command& command, std::string_view name) {
  const auto found = std::ranges::find(command.options, name, &OptionSpec::name);
  return found == command.options.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
  std::optional<std::string_view> nearest;
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : EditDistance(word, candidate);
    if (distance >= best || distance >= candidate.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

bool Arguments::Set(const OptionSpec& option, std::string_view text, std::string& fault) {
  Value value;
  value.text = text;
  bool fits = true;
  const auto take = [&fits](const auto& parsed, auto& target) {
    fits = parsed.has_value();
    if (fits) target = *parsed;
  };
  switch (option.kind) {
    case OptionKind::kSwitch:
    case OptionKind::kText:
      break;
    case OptionKind::kList:
      value.list = std::move(values_[option.name].list);
      value.list.emplace_back(text);
      break;
    case OptionKind::kCount:
      take(ParseCount(text), value.number);
      break;
    case OptionKind::kBytes:
      take(ParseBytes(text), value.number);
      break;
    case OptionKind::kDuration:
      take(ParseDuration(text), value.duration);
      break;
    case OptionKind::kMoment:
      take(ParseMoment(text), value.moment);
      break;
    case OptionKind::kWord: {
      const auto word = std::ranges::find_if(
          option.words, [&](std::string_view known) { return Lower(known) == Lower(text); });
      if (word == option.words.end()) {
        fault = "--" + std::string(option.name) + " must be one of " + Joined(option.words, ", ") +
                ", not \"" + std::string(text) + "\"" + Suggestion("", text, option.words);
        return false;
      }
      value.text = *word;
      break;
    }
  }
  if (!fits) {
    fault = "--" + std::string(option.name) + " takes " + std::string(ShapeOf(option.kind)) +
            ", not \"" + std::string(text) + "\"";
    return false;
  }
  values_[option.name] = std::move(value);
  return true;
}

bool Arguments::TakeOption(std::span<const char* const> words, std::size_t& at,
                           std::string& fault) {
  const std::string_view word = words[at];
  const bool is_long = word.starts_with("--");
  const std::string_view body = word.substr(is_long ? 2 : 1);
  const std::size_t equals = body.find('=');
  const std::string name(body.substr(0, equals));
  const OptionSpec* option = is_long ? FindOption(*command_, name) : nullptr;
  if (option == nullptr) {
    fault = UnknownOption(*command_, name);
    return false;
  }
  std::string_view text;
  if (option->kind == OptionKind::kSwitch) {
    if (equals != std::string_view::npos) {
      fault = "--" + name + " takes no value";
      return false;
    }
  } else if (equals != std::string_view::npos) {
    text = body.substr(equals + 1);
  } else if (at + 1 < words.size()) {
    text = words[++at];
  } else {
    fault = "--" + name + " needs a value: " + std::string(option->value);
    return false;
  }
  if (!Set(*option, text, fault)) return false;
  values_[option->name].given = true;
  return true;
}

bool Arguments::IsComplete(std::string& fault) const {
  for (const OptionSpec& option : command_->options) {
    if (option.required && !Has(option.name)) {
      fault = "--" + std::string(option.name) + " " + std::string(option.value) + " is missing";
      return false;
    }
  }
  if (operands_.size() < command_->operands_min) {
    fault = std::string(command_->operands) + " is missing";
    return false;
  }
  if (operands_.size() > command_->operands_max) {
    fault = "unexpected argument \"" + operands_[command_->operands_max] + "\"";
    return false;
  }
  return true;
}

std::optional<Arguments> Arguments::Parse(const Command& command,
                                          std::span<const char* const> words, std::string& fault) {
  Arguments parsed(command);
  parsed.words_.assign(words.begin(), words.end());
  for (const OptionSpec& option : command.options) {
    const bool usable = option.fallback.empty() || parsed.Set(option, option.fallback, fault);
    EVERSTEP_ASSERT(usable);
  }
  bool only_operands = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (only_operands || word == "-" || !word.starts_with('-')) {
      parsed.operands_.emplace_back(word);
    } else if (word == "--") {
      only_operands = true;
    } else if (word == "--help" || word == "-h") {
      parsed.wants_help_ = true;
      return parsed;
    } else if (!parsed.TakeOption(words, at, fault)) {
      return std::nullopt;
    }
  }
  if (!parsed.IsComplete(fault)) return std::nullopt;
  return parsed;
}

const Arguments::Value& Arguments::Get(std::string_view option) const {
  static const Value kNone;
  const OptionSpec* known = FindOption(*command_, option);
  EVERSTEP_ASSERT(known != nullptr);
  const auto found = values_.find(option);
  return found == values_.end() ? kNone : found->second;
}

bool Arguments::Has(std::string_view option) const { return Get(option).given; }
const std::string& Arguments::Text(std::string_view option) const { return Get(option).text; }
const std::vector<std::string>& Arguments::List(std::string_view option) const {
  return Get(option).list;
}
std::uint64_t Arguments::Number(std::string_view option) const { return Get(option).number; }
std::chrono::milliseconds Arguments::Duration(std::string_view option) const {
  return Get(option).duration;
}
SystemTime Arguments::Moment(std::string_view option) const { return Get(option).moment; }

}  // namespace everstep::cli
