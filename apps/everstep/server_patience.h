#pragma once

#include <chrono>

#include "everstep/error.h"
#include "output.h"

namespace everstep::cli {

// Waits for a server that was there and is away, as while it is restarted: ever longer, for a
// minute at most, and says so on standard error. For ClientOptions::ask_again. One thread.
class ServerPatience {
 public:
  explicit ServerPatience(Output& out) : out_(out) {}

  // False: the time is up, or an interrupt has come.
  bool operator()(const Error& error, int tried);

 private:
  Output& out_;
  std::chrono::steady_clock::time_point give_up_{};
};

}  // namespace everstep::cli
