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
  std::vector<std::string> arguments;    // the first is its name
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string directory;                 // where it runs; empty: where this process does
};

// A process of our own, in a session and process group of its own, with pipes for its input and
// output and no other descriptor of this process. It is killed when the thread that started it
// ends, so that it does not outlive the engine. One thread at a time.
class ChildProcess {
 public:
  // Nothing: it could not be started; `reason` is errno.
  static std::optional<ChildProcess> Start(const ChildProgram& program, int& reason);

  // Kills and reaps what still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Pipes to and from it, non-blocking.
  UniqueFd& input() { return input_; }
  UniqueFd& output() { return output_; }
  UniqueFd& errors() { return errors_; }
  pid_t id() const { return id_; }
  // Readable when it has ended.
  int ended() const { return ended_.get(); }

  // To the whole group. Not after Reap.
  void Signal(int signal) const;
  // Once it has ended: kills what is left of its group and answers waitpid's status.
  int Reap();

 private:
  ChildProcess() = default;

  pid_t id_ = -1;  // negative: reaped
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
  UniqueFd ended_;
};

// The executable that `name` means: itself when it has a slash (relative to `directory`), else the
// first of that name in `search_path`. Empty: there is none.
std::string FindProgram(const std::string& name, std::string_view search_path,
                        const std::string& directory);

}  // namespace everstep
