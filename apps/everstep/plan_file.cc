#include "plan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace everstep::cli {
namespace {

Error Unavailable(const std::string& name, const char* what) {
  return {ErrorCode::kPlanUnavailable, name + ": " + what, {}};
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& name) {
  const bool is_input = name == "-";
  const int file = is_input ? STDIN_FILENO : open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Unavailable(name, std::strerror(errno));
  std::string text;
  std::array<char, 64 << 10> piece;
  int error = 0;
  while (true) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error = errno;
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kPlanBytesMax) break;  // the caller refuses it with a better reason
  }
  if (!is_input) close(file);
  if (error != 0) {
    return Unavailable(is_input ? "standard input cannot be read" : name, std::strerror(error));
  }
  return text;
}

std::string PlaceOf(const std::string& file, const std::string& pointer, std::uint32_t line,
                    std::uint32_t column) {
  if (line == 0) return pointer.empty() ? file : file + " " + pointer;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Result<std::shared_ptr<const Plan>> ReadPlanFile(const std::string& name,
                                                 std::vector<PlanWarning>* warnings) {
  const auto text = ReadWholeFile(name);
  if (!text) return text.error();
  auto plan = ReadPlan(*text, {}, warnings);
  if (warnings != nullptr) {
    for (PlanWarning& warning : *warnings) {
      warning.pointer = PlaceOf(name, warning.pointer, warning.line, warning.column);
    }
  }
  if (plan) return plan;
  Error error = std::move(plan).error();
  for (Fault& fault : error.faults) {
    fault.pointer = PlaceOf(name, fault.pointer, fault.line, fault.column);
  }
  return error;
}

}  // namespace everstep::cli
