#include "work/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

struct Pipe {
  UniqueFd ours;
  UniqueFd theirs;
};

// Moves a descriptor above the standard ones, which the child overwrites.
UniqueFd Raised(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return UniqueFd(descriptor);
  const UniqueFd low(descriptor);
  return UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
}

bool MakePipe(bool we_write, Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  UniqueFd read_end = Raised(ends[0]);
  UniqueFd write_end = Raised(ends[1]);
  pipe.ours = we_write ? std::move(write_end) : std::move(read_end);
  pipe.theirs = we_write ? std::move(read_end) : std::move(write_end);
  return static_cast<bool>(pipe.ours) && static_cast<bool>(pipe.theirs);
}

// Everything that the child needs, prepared before vfork.
struct Launch {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;
  std::array<int, 3> standard{};
  int report = -1;
  pid_t parent = -1;
};

// Runs in the child, which shares the memory of this process until it executes the program. Makes
// system calls only and must not allocate or lock. `report` is closed when the program starts;
// otherwise errno is written to it.
[[noreturn]] void Become(const Launch& launch) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent died before prctl
  ::setsid();
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &ordinary, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = true;
  for (int i = 0; i < 3; ++i) {
    ready = ready && ::dup2(launch.standard[static_cast<std::size_t>(i)], i) == i;
  }
  ready = ready && (launch.directory == nullptr || ::chdir(launch.directory) == 0);
  if (ready) {
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execve(launch.path, launch.arguments, launch.environment);
  }
  const int reason = errno;
  (void)!::write(launch.report, &reason, sizeof(reason));
  ::_exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Uses vfork, whose cost does not grow with the memory of the engine. Blocks signals meanwhile, so
// that no handler runs in the child.
pid_t Launched(const Launch& launch) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();
  if (child == 0) Become(launch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child;
}

int Wait(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) EVERSTEP_ASSERT(errno == EINTR);
  return status;
}

bool IsExecutable(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<ChildProcess> ChildProcess::Start(const ChildProgram& program, int& reason) {
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe report;
  if (!MakePipe(true, in) || !MakePipe(false, out) || !MakePipe(false, err) ||
      !MakePipe(false, report)) {
    reason = errno;
    return std::nullopt;
  }
  const std::vector<char*> arguments = Pointers(program.arguments);
  const std::vector<char*> environment = Pointers(program.environment);
  Launch launch;
  launch.path = program.path.c_str();
  launch.arguments = arguments.data();
  launch.environment = environment.data();
  launch.directory = program.directory.empty() ? nullptr : program.directory.c_str();
  launch.standard = {in.theirs.get(), out.theirs.get(), err.theirs.get()};
  launch.report = report.theirs.get();
  launch.parent = ::getpid();
  const pid_t id = Launched(launch);
  if (id < 0) {
    reason = errno;
    return std::nullopt;
  }
  report.theirs.Close();
  int failure = 0;
  ssize_t size = 0;
  do {
    size = ::read(report.ours.get(), &failure, sizeof(failure));
  } while (size < 0 && errno == EINTR);
  UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, id, 0)));
  if (size != 0 || !ended) {
    reason = size == 0 ? errno : failure;
    ::kill(id, SIGKILL);
    Wait(id);
    return std::nullopt;
  }
  ChildProcess child;
  child.id_ = id;
  child.ended_ = std::move(ended);
  for (const UniqueFd* pipe : {&in.ours, &out.ours, &err.ours}) {
    ::fcntl(pipe->get(), F_SETFL, O_NONBLOCK);
  }
  child.input_ = std::move(in.ours);
  child.output_ = std::move(out.ours);
  child.errors_ = std::move(err.ours);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      ended_(std::move(other.ended_)) {}

ChildProcess::~ChildProcess() {
  if (id_ > 0) Reap();
}

void ChildProcess::Signal(int signal) const {
  EVERSTEP_ASSERT(id_ > 0);
  ::kill(-id_, signal);
}

int ChildProcess::Reap() {
  // Signal before waiting: until then the pid, which is also the group id, cannot be reused.
  Signal(SIGKILL);
  return Wait(std::exchange(id_, -1));
}

std::string FindProgram(const std::string& name, std::string_view search_path,
                        const std::string& directory) {
  if (name.find('/') != std::string::npos) {
    const bool relative = name.front() != '/' && !directory.empty();
    return IsExecutable(relative ? directory + "/" + name : name) ? name : std::string();
  }
  while (!name.empty() && !search_path.empty()) {
    const std::size_t colon = search_path.find(':');
    const std::string candidate = std::string(search_path.substr(0, colon)) + "/" + name;
    // Skip empty and relative entries, which depend on the working directory of the engine.
    if (candidate.starts_with('/') && candidate[1] != '/' && IsExecutable(candidate)) {
      return candidate;
    }
    search_path.remove_prefix(colon == std::string_view::npos ? search_path.size() : colon + 1);
  }
  return {};
}

}  // namespace everstep
