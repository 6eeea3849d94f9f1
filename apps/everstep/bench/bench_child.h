#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "work/child_process.h"

namespace everstep::cli {

// This program once more, as another process; killed with the object. Made, used and destroyed on
// one thread.
class BenchChild {
 public:
  explicit BenchChild(const std::vector<std::string>& arguments);

  // The next line of its output. Aborts when it ends before.
  std::string ReadLine();
  double CpuSeconds() const;
  double ResidentMegabytes() const;

 private:
  ChildProcess process_;
  std::string output_;
};

// `everstep serve` on a folder and port of its own.
class BenchServer {
 public:
  enum class Access : bool { kOpen, kTokens };  // kOpen: --dev
  explicit BenchServer(Access access = Access::kOpen);

  const std::string& address() const { return address_; }
  std::string data() const { return folder_.path() + "/data"; }
  std::string admin_token() const;  // of one with tokens
  double CpuSeconds() const { return child_->CpuSeconds(); }
  double ResidentMegabytes() const { return child_->ResidentMegabytes(); }
  double ready_seconds() const { return ready_seconds_; }  // from its start to "listening"

 private:
  ScratchDirectory folder_;
  std::unique_ptr<BenchChild> child_;
  std::string address_;
  double ready_seconds_ = 0;
};

}  // namespace everstep::cli
