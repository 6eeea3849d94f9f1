#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/result.h"
#include "exit_codes.h"
#include "look.h"

namespace everstep::cli {

// The output of a command: buffered standard output, and standard error. After a failed write
// (closed pipe, full disk) all further output is discarded and the functions return false. A
// subclass writes to a visitor of this process (visitor_output.h). Not thread-safe.
class Output {
 public:
  explicit Output(int stream);
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const Look& look() const { return look_; }
  // Queries the size of the terminal again.
  virtual void RefreshLook();

  bool Write(std::string_view text);
  bool Flush();
  // Writes to standard error, after flushing everything written before.
  virtual void WriteError(std::string_view text);
  // How often this process wrote to standard error, which may move what is drawn on a terminal.
  int errors_written() const { return errors_written_; }
  bool is_open() const { return error_ == 0; }
  int error() const { return error_; }  // errno of the write that failed

  // How often the caller of the command has interrupted it.
  virtual int interrupts();
  // Returns whether nobody waits for the end of the command any more, or this process is about to
  // end.
  virtual bool gone();
  // Waits for `time`. Returns false if there was an interrupt or nobody waits for the command any
  // more.
  virtual bool Wait(std::chrono::milliseconds time);
  // If this process ends before the command does, another process continues it with `body` instead
  // of the body from StoreCommand::prepare.
  virtual void Remember(std::string_view body);

 protected:
  explicit Output(Look look) : look_(look) {}
  // Sends all of `text`. Returns 0 or an errno.
  virtual int Send(std::string_view text);
  void Fail(int error) { error_ = error; }

  Look look_;

 private:
  int stream_ = -1;
  std::string buffer_;
  int error_ = 0;
  int errors_written_ = 0;
};

enum class OutputForm : std::uint8_t { kTable, kJson, kYaml, kNdjson };

inline constexpr std::string_view kOutputWords[] = {"table", "json", "yaml"};
inline constexpr OptionSpec kOutputOption{
    "output", OptionKind::kWord, "FORM", "table, json or yaml", "table", kOutputWords};

// Returns the form that the option "output" names.
OutputForm FormOf(const Arguments& arguments);

// Writes a whole document. Requires: `form` is kJson or kYaml.
void WriteDocument(OutputForm form, std::string_view json, Output& out);

// Reports an error on standard error, with the command that explains it. Returns its exit code.
ExitCode Fail(const Error& error);
ExitCode Fail(const Error& error, Output& out);

// Reports an invalid command line on standard error. Returns kUsage.
ExitCode FailUsage(const Command& command, std::string_view fault);
ExitCode FailUsage(const Command& command, std::string_view fault, Output& out);

// "12.4 MB", "1 run", "3 runs".
std::string BytesText(std::uint64_t bytes);
std::string CountText(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace everstep::cli
