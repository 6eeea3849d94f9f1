#pragma once

#include <memory>

#include "bus/sink.h"
#include "bus/sink_definition.h"

namespace everstep {

// Publishes each message to its topic on NATS JetStream. A message counts as delivered when a
// stream has stored it; Nats-Msg-Id lets the stream drop what comes twice. Connects when there is
// something to send. After a failure the connection is made anew, so that nothing that was sent
// before can overtake what is sent again. On a thread of its own.
std::unique_ptr<Sink> NewNatsSink(const SinkDefinition& sink);

}  // namespace everstep
