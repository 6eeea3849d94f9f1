#pragma once

#include "store/keyed_reader.h"

namespace everstep {

// Adds the rows of a sink's move to `batch` and maintains the count of its dead letters.
Status PutSinkMove(KeyedReader& reader, const SinkMove& move, WriteBatch& batch);

// Adds the removal of a sink's rows to `batch`, one row at a time: range deletions are reserved for
// the rows of runs.
Status PutSinkRemoval(KeyedReader& reader, const SinkKey& sink, WriteBatch& batch);

}  // namespace everstep
