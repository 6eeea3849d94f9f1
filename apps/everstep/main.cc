#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "output.h"

namespace everstep::cli {
namespace {

using Words = std::span<const char* const>;

// Returns how many leading words name the command: 2 for "log append", 1 for "demo", 0 if they do
// not match.
std::size_t MatchedWords(const Command& command, Words words) {
  std::string given;
  for (std::size_t count = 1; count <= words.size() && count <= 2; ++count) {
    given += (count > 1 ? " " : "") + std::string(words[count - 1]);
    if (given == command.name) return count;
  }
  return 0;
}

ExitCode RunCommand(const Command& command, Words words, Output& out) {
  std::string fault;
  const auto arguments = Arguments::Parse(command, words, fault);
  if (!arguments) return FailUsage(command, fault);
  if (arguments->wants_help()) {
    out.Write(HelpOf(command, out.look()));
    return ExitCode::kOk;
  }
  return command.run(*arguments, out);
}

ExitCode UnknownCommand(Words words) {
  // The words before the first option are the presumed command.
  std::string given;
  for (std::size_t i = 0; i < words.size() && i < 2 && *words[i] != '-'; ++i) {
    given += (i > 0 ? " " : "") + std::string(words[i]);
  }
  std::string text = IsGroup(given)
                         ? "'" + given + "' needs a command\n\n" + HelpOfAll(given, ErrorLook())
                         : "there is no command '" + Printable(given) + "'" +
                               CommandSuggestion(given) + "\nsee 'everstep help'\n";
  std::fputs(("everstep: " + text).c_str(), stderr);
  return ExitCode::kUsage;
}

ExitCode Dispatch(Words words, Output& out) {
  if (words.empty()) {
    std::fputs(HelpOfAll("", ErrorLook()).c_str(), stderr);
    return ExitCode::kUsage;
  }
  const std::string_view first = words.front();
  if (first == "--help" || first == "-h") return RunCommand(kHelp, words.subspan(1), out);
  if (first == "--version") return RunCommand(kVersion, words.subspan(1), out);
  if (IsGroup(first) && words.size() == 2 && std::string_view(words[1]) == "--help") {
    return RunCommand(kHelp, words.first(1), out);
  }
  for (const Command* command : kCommands) {
    const std::size_t matched = MatchedWords(*command, words);
    if (matched > 0) return RunCommand(*command, words.subspan(matched), out);
  }
  return UnknownCommand(words);
}

// A pipe closed by its reader is not a failure; any other write error is.
ExitCode CloseOutput(ExitCode code, Output& out) {
  if (out.Flush() || out.error() == EPIPE) return code;
  std::fprintf(stderr, "everstep: cannot write standard output: %s\n", std::strerror(out.error()));
  return Worse(code, ExitCode::kStore);
}

constexpr const char* kOutOfMemory =
    "everstep: out of memory; raise the limit of the process (ulimit -v, or that of its "
    "container), or lower limits.memory and store.memory. Everything acknowledged is durable\n";
constexpr const char* kOutOfThreads =
    "everstep: out of threads; raise the limits of the process (ulimit -u and ulimit -v, or those "
    "of its container)\n";

// Called for an uncaught exception. On any thread but the main one that ends the process.
[[noreturn]] void Terminate() {
  const char* message = nullptr;
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    message = kOutOfMemory;
  } catch (const std::system_error& exception) {
    if (exception.code() == std::errc::resource_unavailable_try_again) message = kOutOfThreads;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "everstep: %s\n", exception.what());
  } catch (...) {
  }
  if (message == nullptr) std::abort();
  (void)!::write(STDERR_FILENO, message, std::strlen(message));
  std::_Exit(static_cast<int>(ExitCode::kNoResources));
}

// A standard descriptor that the caller closed must not be reused for a pipe or file of this
// process. Reading and writing it still fail.
void ReserveStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    (void)!::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

ExitCode Main(Words words) {
  ReserveStandardDescriptors();
  std::set_terminate(Terminate);
  CatchInterrupts();
  Output out(STDOUT_FILENO);
  // Libraries may throw (memory, file systems); still end with a message and an exit code.
  try {
    return CloseOutput(Dispatch(words, out), out);
  } catch (const std::bad_alloc&) {
    std::fputs(kOutOfMemory, stderr);
    return ExitCode::kNoResources;
  } catch (const std::system_error& exception) {
    if (exception.code() != std::errc::resource_unavailable_try_again) throw;
    std::fputs(kOutOfThreads, stderr);
    return ExitCode::kNoResources;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "everstep: %s\n", exception.what());
    return ExitCode::kStore;
  }
}

}  // namespace
}  // namespace everstep::cli

int main(int count, char** words) {
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  return static_cast<int>(everstep::cli::Main(all.subspan(count > 0 ? 1 : 0)));
}
