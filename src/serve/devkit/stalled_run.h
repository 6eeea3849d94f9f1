#pragma once

#include <optional>
#include <string>

#include "queue/message.h"
#include "store/state_store.h"

namespace everstep {

// The message that makes the runtime replay a run.
NewMessage ReplayMessage(const StoredRun& run);

// An application's run advances through its messages. The runtime first records a step or a wait
// and then sends its message, so a crash in between leaves a step or wait without a message; and of
// the messages of steps only the last one replays the run. Returns the message that replays a run
// with such a step or wait. Returns nullopt if the run has ended, waits for a delivery to one of
// its hooks, or belongs to no application. `has_later`: messages of the run remain that are due
// much later.
//
// In the newest runtimes only the message that started a step may run it again within a quarter of
// an hour. If a step is running, the returned message therefore has the id of that message. The
// queue uses it if that message is gone, which means that its handler ended and abandoned the step.
std::optional<NewMessage> WakeStalledRun(StateReader& reader, const std::string& tenant_id,
                                         const RunId& run_id, bool has_later);

}  // namespace everstep
