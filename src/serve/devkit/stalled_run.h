#pragma once

#include <optional>
#include <string>

#include "queue/message.h"
#include "store/state_store.h"

namespace everstep {

// The message by which the runtime replays a run.
NewMessage ReplayMessage(const StoredRun& run);

// A run of an application goes on by its messages. The runtime records a step or a wait and then
// sends its message; whoever is killed in between leaves one that nobody comes for, and of the
// messages of steps none but the last replays the run. `has_later`: messages of the run are left
// that are due much later. What replays a run that has such a step or wait; nothing: it has ended,
// rests until somebody delivers to one of its hooks, or is none of an application.
//
// The newest runtimes let nobody but the message that began a step run it again for a quarter of an
// hour. So the message has the id of that one, if a step is running: the queue uses it if the
// message is gone, that is, if its handler has ended and the step has been left alone.
std::optional<NewMessage> WakeStalledRun(StateReader& reader, const std::string& tenant_id,
                                         const RunId& run_id, bool has_later);

}  // namespace everstep
