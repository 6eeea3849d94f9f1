#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/result.h"
#include "exit_codes.h"
#include "look.h"

namespace everstep::cli {

// Standard output, buffered. When nobody reads any more, or the disk is full, writing goes on into
// the void and the functions answer false.
class Output {
 public:
  explicit Output(int stream);

  const Look& look() const { return look_; }
  bool Write(std::string_view text);
  bool Flush();
  bool is_open() const { return error_ == 0; }
  int error() const { return error_; }  // errno of the write that failed

 private:
  int stream_;
  Look look_;
  std::string buffer_;
  int error_ = 0;
};

enum class OutputForm : std::uint8_t { kTable, kJson, kYaml, kNdjson };

inline constexpr std::string_view kOutputWords[] = {"table", "json", "yaml"};
inline constexpr OptionSpec kOutputOption{
    "output", OptionKind::kWord, "FORM", "table, json or yaml", "table", kOutputWords};

// Of an option named "output".
OutputForm FormOf(const Arguments& arguments);

// A whole document, for kJson and kYaml.
void WriteDocument(OutputForm form, std::string_view json, Output& out);

// Tells standard error what went wrong and where it is explained.
ExitCode Fail(const Error& error);

// Tells standard error that the command line is wrong.
ExitCode FailUsage(const Command& command, std::string_view fault);

// "12.4 MB", "1 run", "3 runs".
std::string BytesText(std::uint64_t bytes);
std::string CountText(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace everstep::cli
