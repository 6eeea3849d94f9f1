#pragma once

#include "store/keyed_reader.h"

namespace everstep {

// Puts the rows of a sink's move into a batch, and keeps the count of its dead letters.
Status PutSinkMove(KeyedReader& reader, const SinkMove& move, WriteBatch& batch);

// Puts the removal of a sink's rows into a batch, one by one: ranges are for the rows of runs.
Status PutSinkRemoval(KeyedReader& reader, const SinkKey& sink, WriteBatch& batch);

}  // namespace everstep
