#pragma once

#include <chrono>

namespace everstep {

// Sleeps, to let another process make progress. For polling state that has no notification.
void PauseForOthers(std::chrono::milliseconds pause);

}  // namespace everstep
