#pragma once

#include <memory>

#include "bus/sink.h"
#include "bus/sink_definition.h"

namespace everstep {

// Publishes each message to its topic on NATS JetStream. A message counts as delivered once a
// stream has stored it; Nats-Msg-Id lets the stream drop duplicates. Connects when there is
// something to send. After a failure it reconnects, so that messages sent earlier cannot overtake
// the ones that are sent again. Works on its own thread.
std::unique_ptr<Sink> NewNatsSink(const SinkDefinition& sink);

}  // namespace everstep
