#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace everstep {

struct ChildProgram {
  std::string path;                      // of the executable
  std::vector<std::string> arguments;    // including argv[0]
  std::vector<std::string> environment;  // NAME=value; the complete environment
  std::string directory;                 // working directory; empty: that of this process
};

// A child process in its own session and process group. It has pipes for its input and output and
// inherits no other descriptor. It is killed when the thread that started it ends, so that it does
// not outlive the engine. Must be used by one thread at a time.
class ChildProcess {
 public:
  // Returns nullopt and sets `reason` to the errno if the process cannot be started.
  static std::optional<ChildProcess> Start(const ChildProgram& program, int& reason);

  // Kills and reaps the process group if it still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Our ends of its pipes, non-blocking.
  UniqueFd& input() { return input_; }
  UniqueFd& output() { return output_; }
  UniqueFd& errors() { return errors_; }
  pid_t id() const { return id_; }
  // A descriptor that becomes readable when the process has ended.
  int ended() const { return ended_.get(); }

  // Sends a signal to the whole group. Must not be called after Reap.
  void Signal(int signal) const;
  // Kills what is left of the group and returns the waitpid status. Must be called once, after the
  // process has ended.
  int Reap();

 private:
  ChildProcess() = default;

  pid_t id_ = -1;  // negative: reaped
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
  UniqueFd ended_;
};

// Finds the executable for `name`: the path itself, relative to `directory`, if it contains a
// slash, otherwise the first match in `search_path`. Returns "" if there is none.
std::string FindProgram(const std::string& name, std::string_view search_path,
                        const std::string& directory);

}  // namespace everstep
