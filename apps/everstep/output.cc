#include "output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/assert.h"
#include "interrupt.h"
#include "json_layout.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

std::string FailureText(const Error& error) {
  std::string text = "everstep: " + Printable(Name(error.code)) + ": " + Printable(error.message);
  for (const Fault& fault : error.faults) {
    text += "\n  " + (fault.pointer.empty() ? "(document)" : Printable(fault.pointer)) + ": " +
            Printable(fault.message);
  }
  return text + "\nsee 'everstep help " + std::string(Name(error.code)) + "'\n";
}

std::string UsageText(const Command& command, std::string_view fault) {
  const std::string name(command.name);
  return "everstep " + name + ": " + Printable(fault) + "\nsee 'everstep help " + name + "'\n";
}

}  // namespace

Output::Output(int stream) : look_(OutputLook()), stream_(stream) {}

void Output::RefreshLook() {
  const Look now = OutputLook();
  look_.columns = now.columns;
  look_.rows = now.rows;
}

bool Output::Write(std::string_view text) {
  if (is_open()) buffer_.append(text);
  return buffer_.size() < kBufferBytes ? is_open() : Flush();
}

bool Output::Flush() {
  if (is_open() && !buffer_.empty()) error_ = Send(buffer_);
  buffer_.clear();
  return is_open();
}

int Output::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(stream_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void Output::WriteError(std::string_view text) {
  Flush();
  ++errors_written_;
  std::fputs(std::string(text).c_str(), stderr);
}

int Output::interrupts() { return InterruptCount(); }

bool Output::gone() { return false; }

bool Output::Wait(std::chrono::milliseconds time) {
  if (!Interrupted()) WaitForInput(-1, time);
  return !Interrupted();
}

void Output::Remember(std::string_view) {}

OutputForm FormOf(const Arguments& arguments) {
  const std::string& word = arguments.Text("output");
  if (word == "table") return OutputForm::kTable;
  if (word == "json") return OutputForm::kJson;
  if (word == "yaml") return OutputForm::kYaml;
  EVERSTEP_ASSERT(word == "ndjson");
  return OutputForm::kNdjson;
}

void WriteDocument(OutputForm form, std::string_view json, Output& out) {
  EVERSTEP_ASSERT(form == OutputForm::kJson || form == OutputForm::kYaml);
  out.Write(form == OutputForm::kJson ? IndentedJson(json) : YamlOf(json));
}

ExitCode Fail(const Error& error) {
  std::fputs(FailureText(error).c_str(), stderr);
  return ExitCodeOf(error.code);
}

ExitCode Fail(const Error& error, Output& out) {
  out.WriteError(FailureText(error));
  return ExitCodeOf(error.code);
}

ExitCode FailUsage(const Command& command, std::string_view fault) {
  std::fputs(UsageText(command, fault).c_str(), stderr);
  return ExitCode::kUsage;
}

ExitCode FailUsage(const Command& command, std::string_view fault, Output& out) {
  out.WriteError(UsageText(command, fault));
  return ExitCode::kUsage;
}

std::string BytesText(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string CountText(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace everstep::cli
