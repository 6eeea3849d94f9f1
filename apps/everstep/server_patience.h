#pragma once

#include <chrono>

#include "everstep/error.h"
#include "output.h"

namespace everstep::cli {

// Waits for a server that has become unavailable, for example during a restart: with growing pauses
// for at most a minute, after a message on standard error. For ClientOptions::ask_again. Not
// thread-safe.
class ServerPatience {
 public:
  explicit ServerPatience(Output& out) : out_(out) {}

  // Returns whether to try again; false if the time is up or on an interrupt.
  bool operator()(const Error& error, int tried);

 private:
  Output& out_;
  std::chrono::steady_clock::time_point give_up_{};
};

}  // namespace everstep::cli
