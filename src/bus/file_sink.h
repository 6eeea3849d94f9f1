#pragma once

#include <memory>
#include <string>

#include "bus/sink.h"
#include "bus/sink_definition.h"
#include "everstep/result.h"

namespace everstep {

// Appends each message as a line to <directory>/events.ndjson, synced before it counts as
// delivered. A file that has grown to `rotate_bytes` becomes events.<number>.ndjson, counted up;
// with `keep` the oldest of them go. A line that a crash has cut off is removed. On a thread of its
// own. kStoreIo: the directory cannot be made or written.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& directory,
                                           const SinkDefinition::File& options);

}  // namespace everstep
