#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/snapshot.h"
#include "exit_codes.h"

namespace everstep::cli {

enum class OptionKind : std::uint8_t {
  kSwitch,  // given or not
  kText,
  kList,      // text, any number of times
  kCount,     // a whole number
  kBytes,     // 4096, 64K, 64M, 2G
  kDuration,  // 250ms, 90s, 5m, 12h, 30d; a plain number counts seconds
  kMoment,    // an RFC 3339 time, or a duration ago
  kWord,      // one of `words`, in any case
};

struct OptionSpec {
  std::string_view name;  // without the dashes
  OptionKind kind = OptionKind::kSwitch;
  std::string_view value = {};  // the placeholder for the value in the help
  std::string_view meaning = {};
  std::string_view fallback = {};  // the value when the option is not given
  std::span<const std::string_view> words = {};
  bool required = false;
};

class Arguments;
class Output;
struct StoreCommand;

// A command as data. Parsing, help, completion and suggestions are derived from it.
struct Command {
  std::string_view name;      // "log append"
  std::string_view operands;  // as shown in the help: "RUN", "[FILE...]"
  std::size_t operands_min = 0;
  std::size_t operands_max = 0;
  std::string_view summary;
  std::string_view details;
  std::span<const OptionSpec> options;
  ExitCode (*run)(const Arguments& arguments, Output& out) = nullptr;
  const StoreCommand* on_store = nullptr;  // set if `run` is RunOnStore (store_command.h)
};

// A validated command line: every value matches the kind of its option. The accessors take option
// names from the command's table; any other name aborts.
class Arguments {
 public:
  // Returns nothing and sets `fault` if the command line is invalid.
  static std::optional<Arguments> Parse(const Command& command, std::span<const char* const> words,
                                        std::string& fault);

  bool Has(std::string_view option) const;
  const std::string& Text(std::string_view option) const;  // a kWord is spelt as in its table
  const std::vector<std::string>& List(std::string_view option) const;  // in the order given
  std::uint64_t Number(std::string_view option) const;                  // kCount, kBytes
  std::chrono::milliseconds Duration(std::string_view option) const;
  SystemTime Moment(std::string_view option) const;

  const std::vector<std::string>& operands() const { return operands_; }
  const Command& command() const { return *command_; }
  // The words after the name of the command, as given.
  const std::vector<std::string>& words() const { return words_; }
  bool wants_help() const { return wants_help_; }

 private:
  struct Value {
    std::string text;
    std::vector<std::string> list;
    std::uint64_t number = 0;
    std::chrono::milliseconds duration{0};
    SystemTime moment{};
    bool given = false;
  };

  explicit Arguments(const Command& command) : command_(&command) {}
  bool TakeOption(std::span<const char* const> words, std::size_t& at, std::string& fault);
  bool IsComplete(std::string& fault) const;
  bool Set(const OptionSpec& option, std::string_view text, std::string& fault);
  const Value& Get(std::string_view option) const;

  const Command* command_;
  std::map<std::string_view, Value> values_;
  std::vector<std::string> operands_;
  std::vector<std::string> words_;
  bool wants_help_ = false;
};

// Returns the word in `known` that is most similar to `word`, or nothing if none is similar.
std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> known);

}  // namespace everstep::cli
