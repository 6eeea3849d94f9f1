#pragma once

#include <chrono>

namespace everstep {

// A moment for another process to go on: nobody tells when it has.
void PauseForOthers(std::chrono::milliseconds pause);

}  // namespace everstep
