#include "help.h"

#include <algorithm>
#include <vector>

#include "commands.h"
#include "output.h"
#include "serve/documents.h"

namespace everstep::cli {
namespace {

bool IsOfGroup(const Command& command, std::string_view group) {
  return group.empty() ||
         (command.name.starts_with(group) && command.name.substr(group.size()).starts_with(' '));
}

// "  left    right" lines.
std::string TwoColumns(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [left, right] : lines) width = std::max(width, ColumnsOf(left));
  std::string text;
  for (const auto& [left, right] : lines) {
    text += "  " + left + std::string(width - ColumnsOf(left) + 2, ' ') + right + "\n";
  }
  return text;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  std::string name;
  for (const std::string& word : arguments.operands()) name += (name.empty() ? "" : " ") + word;
  for (const Command* command : kCommands) {
    if (command->name != name) continue;
    out.Write(HelpOf(*command, out.look()));
    return ExitCode::kOk;
  }
  if (const auto page = ErrorPage(name)) {
    out.Write(*page);
    return ExitCode::kOk;
  }
  if (!name.empty() && !IsGroup(name)) {
    return FailUsage(arguments.command(),
                     "there is no command '" + name + "'" + CommandSuggestion(name));
  }
  out.Write(HelpOfAll(name, out.look()));
  return ExitCode::kOk;
}

}  // namespace

std::string HelpOf(const Command& command, const Look& look) {
  std::string text = look.Paint(Colour::kBold, "everstep " + std::string(command.name));
  if (!command.operands.empty()) text += " " + std::string(command.operands);
  if (!command.options.empty()) text += " [OPTION...]";
  text += "\n\n" + std::string(command.summary) + "\n";
  if (!command.details.empty()) text += "\n" + std::string(command.details) + "\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const OptionSpec& option : command.options) {
    std::string left = "--" + std::string(option.name);
    if (!option.value.empty()) left += " " + std::string(option.value);
    std::string right(option.meaning);
    if (option.required) right += " (required)";
    if (!option.fallback.empty()) right += " [default: " + std::string(option.fallback) + "]";
    lines.emplace_back(std::move(left), std::move(right));
  }
  lines.emplace_back("--help", "show this help");
  return text + "\n" + look.Paint(Colour::kBold, "Options") + "\n" + TwoColumns(lines);
}

bool IsGroup(std::string_view word) {
  return !word.empty() && std::ranges::any_of(kCommands, [&](const Command* command) {
    return IsOfGroup(*command, word);
  });
}

std::string HelpOfAll(std::string_view group, const Look& look) {
  std::string text = "everstep: durable workflows and their logs\n\n";
  text += look.Paint(Colour::kBold, "Commands") + "\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Command* command : kCommands) {
    if (!IsOfGroup(*command, group)) continue;
    lines.emplace_back(std::string(command->name), std::string(command->summary));
  }
  text += TwoColumns(lines);
  return text + "\nSee 'everstep help COMMAND' for the options of a command.\n";
}

std::string CommandSuggestion(std::string_view words) {
  std::vector<std::string_view> known;
  for (const Command* command : kCommands) {
    known.push_back(command->name);
    // The second word alone: "append" for "log append".
    if (command->name.ends_with(words) && command->name.size() > words.size() && !words.empty()) {
      return "; did you mean '" + std::string(command->name) + "'?";
    }
  }
  const auto nearest = Nearest(words, known);
  return nearest ? "; did you mean '" + std::string(*nearest) + "'?" : std::string();
}

const Command kHelp{
    "help",
    "[COMMAND | CODE]",
    0,
    2,
    "Show what a command does and which options it takes, or what an error means.",
    "",
    {},
    Run,
};

}  // namespace everstep::cli
