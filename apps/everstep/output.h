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

// Where a command answers: standard output, buffered, and standard error. When nobody reads any
// more, or the disk is full, writing goes on into the void and the functions answer false. Another
// kind of it answers someone who is connected to this process (owner_socket.h). One thread.
class Output {
 public:
  explicit Output(int stream);
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const Look& look() const { return look_; }
  // Asks the terminal again how large it is.
  virtual void RefreshLook();

  bool Write(std::string_view text);
  bool Flush();
  // To standard error, behind all that was written before.
  virtual void WriteError(std::string_view text);
  // How often. What stands on a terminal is then no longer where it was.
  int errors_written() const { return errors_written_; }
  bool is_open() const { return error_ == 0; }
  int error() const { return error_; }  // errno of the write that failed

  // How often whoever gave the command has asked it to stop.
  virtual int interrupts();
  // True: nobody waits for the end of the command any more, or this process is about to end.
  virtual bool gone();
  // Lets time pass. False: an interrupt has come, or nobody is there any more.
  virtual bool Wait(std::chrono::milliseconds time);
  // If this process ends before the command does, another one goes on with `body` in place of what
  // the command was given (StoreCommand::prepare).
  virtual void Remember(std::string_view body);

 protected:
  explicit Output(Look look) : look_(look) {}
  // All of it, or an errno.
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

// Of an option named "output".
OutputForm FormOf(const Arguments& arguments);

// A whole document, for kJson and kYaml.
void WriteDocument(OutputForm form, std::string_view json, Output& out);

// Tells standard error what went wrong and where it is explained.
ExitCode Fail(const Error& error);
ExitCode Fail(const Error& error, Output& out);

// Tells standard error that the command line is wrong.
ExitCode FailUsage(const Command& command, std::string_view fault);
ExitCode FailUsage(const Command& command, std::string_view fault, Output& out);

// "12.4 MB", "1 run", "3 runs".
std::string BytesText(std::uint64_t bytes);
std::string CountText(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace everstep::cli
