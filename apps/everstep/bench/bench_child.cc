#include "bench/bench_child.h"

#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/assert.h"

namespace everstep::cli {
namespace {

ChildProcess StartSelf(const std::vector<std::string>& arguments) {
  ChildProgram program;
  program.path = std::filesystem::read_symlink("/proc/self/exe").string();
  program.arguments = {"everstep"};
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  int reason = 0;
  auto child = ChildProcess::Start(program, reason);
  EVERSTEP_ASSERT(child.has_value());
  return *std::move(child);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

BenchChild::BenchChild(const std::vector<std::string>& arguments)
    : process_(StartSelf(arguments)) {}

std::string BenchChild::ReadLine() {
  std::size_t end = 0;
  while ((end = output_.find('\n')) == std::string::npos) {
    pollfd readable{process_.output().get(), POLLIN, 0};
    (void)::poll(&readable, 1, -1);
    char buffer[4096];
    const ssize_t count = ::read(process_.output().get(), buffer, sizeof(buffer));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    EVERSTEP_ASSERT(count > 0);
    output_.append(buffer, static_cast<std::size_t>(count));
  }
  std::string line = output_.substr(0, end);
  output_.erase(0, end + 1);
  return line;
}

// Fields 14 and 15 of /proc/PID/stat, in ticks (proc(5)). The second field may contain spaces and
// ends with ")".
double BenchChild::CpuSeconds() const {
  const std::string text = ReadFile("/proc/" + std::to_string(process_.id()) + "/stat");
  const std::size_t name_end = text.rfind(')');
  EVERSTEP_ASSERT(name_end != std::string::npos);
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double BenchChild::ResidentMegabytes() const {
  std::istringstream fields(ReadFile("/proc/" + std::to_string(process_.id()) + "/statm"));
  double total = 0;
  double resident = 0;
  fields >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1048576.0;
}

std::string BenchServer::admin_token() const {
  std::string token = ReadFile(data() + "/admin-token");
  while (token.ends_with('\n')) token.pop_back();
  return token;
}

BenchServer::BenchServer(Access access) {
  const double begin = WallSeconds();
  std::vector<std::string> arguments = {"serve", "--data", data(), "--listen", "127.0.0.1:0"};
  if (access == Access::kOpen) arguments.emplace_back("--dev");
  child_ = std::make_unique<BenchChild>(arguments);
  const std::string line = child_->ReadLine();
  ready_seconds_ = WallSeconds() - begin;
  constexpr std::string_view kListening = "listening on http://";
  EVERSTEP_ASSERT(line.starts_with(kListening));
  address_ = line.substr(kListening.size());
}

}  // namespace everstep::cli
