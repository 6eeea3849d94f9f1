#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "work/child_process.h"

namespace everstep::cli {

// This program as a child process, which is killed with the object. Must be created, used and
// destroyed on one thread.
class BenchChild {
 public:
  explicit BenchChild(const std::vector<std::string>& arguments);

  // Returns the next line of its output. Aborts if the output ends first.
  std::string ReadLine();
  double CpuSeconds() const;
  double ResidentMegabytes() const;

 private:
  ChildProcess process_;
  std::string output_;
};

// `everstep serve` with its own data folder and port.
class BenchServer {
 public:
  enum class Access : bool { kOpen, kTokens };  // kOpen: --dev
  explicit BenchServer(Access access = Access::kOpen);

  const std::string& address() const { return address_; }
  std::string data() const { return folder_.path() + "/data"; }
  std::string admin_token() const;  // requires Access::kTokens
  double CpuSeconds() const { return child_->CpuSeconds(); }
  double ResidentMegabytes() const { return child_->ResidentMegabytes(); }
  double ready_seconds() const { return ready_seconds_; }  // from the start to "listening"

 private:
  ScratchDirectory folder_;
  std::unique_ptr<BenchChild> child_;
  std::string address_;
  double ready_seconds_ = 0;
};

}  // namespace everstep::cli
