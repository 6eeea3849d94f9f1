#include "server_patience.h"

#include <algorithm>
#include <string>

namespace everstep::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kPauseFirst{100};
constexpr milliseconds kPauseMax{2'000};
constexpr int kDoublingsMax = 5;

}  // namespace

bool ServerPatience::operator()(const Error& error, int tried) {
  if (tried == 1) {
    give_up_ = steady_clock::now() + kPatience;
    out_.WriteError("everstep: " + Printable(error.message) + "; waiting for the server, up to " +
                    std::to_string(kPatience.count()) + " s\n");
  }
  const milliseconds pause =
      std::min(kPauseMax, kPauseFirst * (1 << std::min(tried - 1, kDoublingsMax)));
  return steady_clock::now() + pause < give_up_ && out_.Wait(pause);
}

}  // namespace everstep::cli
