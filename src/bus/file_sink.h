#pragma once

#include <memory>
#include <string>

#include "bus/sink.h"
#include "bus/sink_definition.h"
#include "everstep/result.h"

namespace everstep {

// Appends each message as a line to <directory>/events.ndjson and syncs it before reporting it as
// delivered. Once the file has reached `rotate_bytes` it is renamed to events.<number>.ndjson with
// the next number; `keep` limits how many of those remain, the oldest are deleted first. An
// incomplete last line, left by a crash, is removed. Writes on its own thread. kStoreIo if the
// directory cannot be created or written.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& directory,
                                           const SinkDefinition::File& options);

}  // namespace everstep
