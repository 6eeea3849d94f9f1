// Shell completion, generated from the table of commands.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "help.h"
#include "output.h"

namespace everstep::cli {
namespace {

std::string_view FirstWord(std::string_view name) { return name.substr(0, name.find(' ')); }
std::string_view SecondWord(std::string_view name) {
  const std::size_t space = name.find(' ');
  return space == std::string_view::npos ? std::string_view() : name.substr(space + 1);
}

std::vector<std::string_view> FirstWords() {
  std::vector<std::string_view> words;
  for (const Command* command : kCommands) {
    const std::string_view word = FirstWord(command->name);
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

std::vector<std::string_view> SecondWords(std::string_view group) {
  std::vector<std::string_view> words;
  for (const Command* command : kCommands) {
    if (FirstWord(command->name) == group) words.push_back(SecondWord(command->name));
  }
  return words;
}

std::string Joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string OptionsOf(const Command& command) {
  std::string text = "--help";
  for (const OptionSpec& option : command.options) text.append(" --").append(option.name);
  return text;
}

// Returns `text` in single quotes, valid in all of the shells.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns a "group)" line for each group, with the text that `of` returns for it.
template <typename F>
std::string GroupCases(F of) {
  std::string text;
  for (const std::string_view word : FirstWords()) {
    if (IsGroup(word)) text += "      " + std::string(word) + ") " + of(word) + " ;;\n";
  }
  return text;
}

// Returns lines that set `variable` to the possible values of the preceding option.
std::string WordCases(std::string_view variable) {
  std::string text;
  for (const Command* command : kCommands) {
    for (const OptionSpec& option : command->options) {
      if (option.words.empty()) continue;
      text += "    '" + std::string(command->name) + " --" + std::string(option.name) + "') " +
              std::string(variable) + "='" + Joined({option.words.begin(), option.words.end()}) +
              "' ;;\n";
    }
  }
  return text;
}

std::string OptionCases() {
  std::string text;
  for (const Command* command : kCommands) {
    text += "    '" + std::string(command->name) + "') options='" + OptionsOf(*command) + "' ;;\n";
  }
  return text;
}

std::string Bash() {
  return "# bash completion for everstep; source it, or put it where bash looks for completions\n"
         "_everstep() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=${COMP_WORDS[1]} at=2 words= options=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         Joined(FirstWords()) +
         "' -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         GroupCases(
             [](std::string_view word) { return "words='" + Joined(SecondWords(word)) + "'"; }) +
         "  esac\n"
         "  if [[ -n $words ]]; then\n"
         "    if ((COMP_CWORD == 2)); then\n"
         "      COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "      return\n"
         "    fi\n"
         "    command+=\" ${COMP_WORDS[2]}\" words=\n"
         "  fi\n"
         "  case \"$command $previous\" in\n" +
         WordCases("words") +
         "  esac\n"
         "  if [[ -n $words ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         OptionCases() +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _everstep everstep\n";
}

std::string Zsh() {
  return "#compdef everstep\n"
         "_everstep() {\n"
         "  local command=${words[2]} seconds= choices= options=\n"
         "  if ((CURRENT == 2)); then\n"
         "    compadd -- " +
         Joined(FirstWords()) +
         "\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         GroupCases(
             [](std::string_view word) { return "seconds='" + Joined(SecondWords(word)) + "'"; }) +
         "  esac\n"
         "  if [[ -n $seconds ]]; then\n"
         "    if ((CURRENT == 3)); then\n"
         "      compadd -- ${=seconds}\n"
         "      return\n"
         "    fi\n"
         "    command+=\" ${words[3]}\"\n"
         "  fi\n"
         "  case \"$command ${words[CURRENT-1]}\" in\n" +
         WordCases("choices") +
         "  esac\n"
         "  if [[ -n $choices ]]; then\n"
         "    compadd -- ${=choices}\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         OptionCases() +
         "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    compadd -- ${=options}\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         // A file on fpath is loaded on its first call; otherwise the script was sourced.
         "if [[ $funcstack[1] == _everstep ]]; then\n"
         "  _everstep \"$@\"\n"
         "else\n"
         "  compdef _everstep everstep\n"
         "fi\n";
}

std::string Fish() {
  std::string text = "# fish completion for everstep\n";
  for (const std::string_view word : FirstWords()) {
    text += "complete -c everstep -n __fish_use_subcommand -f -a " + std::string(word) + "\n";
  }
  for (const Command* command : kCommands) {
    const std::string first(FirstWord(command->name));
    const std::string second(SecondWord(command->name));
    std::string seen = "__fish_seen_subcommand_from " + first;
    if (!second.empty()) {
      text += "complete -c everstep -n '" + seen + "; and not __fish_seen_subcommand_from " +
              Joined(SecondWords(first)) + "' -f -a " + second + " -d " + Quoted(command->summary) +
              "\n";
      seen += "; and __fish_seen_subcommand_from " + second;
    }
    for (const OptionSpec& option : command->options) {
      text += "complete -c everstep -n '" + seen + "' -l " + std::string(option.name);
      if (option.kind != OptionKind::kSwitch) text += " -r";
      if (!option.words.empty()) {
        text += " -f -a " + Quoted(Joined({option.words.begin(), option.words.end()}));
      }
      text += " -d " + Quoted(option.meaning) + "\n";
    }
  }
  return text;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::string& shell = arguments.operands().front();
  if (shell == "bash") {
    out.Write(Bash());
  } else if (shell == "zsh") {
    out.Write(Zsh());
  } else if (shell == "fish") {
    out.Write(Fish());
  } else {
    return FailUsage(arguments.command(), "SHELL must be bash, zsh or fish");
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kCompletion{
    "completion",
    "SHELL",
    1,
    1,
    "Print a completion script for bash, zsh or fish.",
    "For bash: source <(everstep completion bash)",
    {},
    Run,
};

}  // namespace everstep::cli
