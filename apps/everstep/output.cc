#include "output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/assert.h"
#include "json_layout.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

void WriteError(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

Output::Output(int stream) : stream_(stream), look_(OutputLook()) {}

bool Output::Write(std::string_view text) {
  if (is_open()) buffer_.append(text);
  return buffer_.size() < kBufferBytes ? is_open() : Flush();
}

bool Output::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && is_open()) {
    const ssize_t written = write(stream_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
  return is_open();
}

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
  std::string text = "everstep: " + Printable(Name(error.code)) + ": " + Printable(error.message);
  for (const Fault& fault : error.faults) {
    text += "\n  " + (fault.pointer.empty() ? "(document)" : Printable(fault.pointer)) + ": " +
            Printable(fault.message);
  }
  WriteError(text + "\nsee docs/errors/" + std::string(Name(error.code)) + ".md\n");
  return ExitCodeOf(error.code);
}

ExitCode FailUsage(const Command& command, std::string_view fault) {
  const std::string name(command.name);
  WriteError("everstep " + name + ": " + Printable(fault) + "\nsee 'everstep help " + name + "'\n");
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
