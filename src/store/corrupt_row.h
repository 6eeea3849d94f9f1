#pragma once

#include <string_view>

#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

std::string_view Name(Table table);

// The location of a row, for error messages.
struct RowPlace {
  Table table{};
  std::string_view run_id{};  // empty: unknown
  RunNo run{};                // zero: not a row of a run
  EventSeq seq{};             // zero: not an event
};

// Returns kStoreCorrupt with the location and a description of what is wrong there.
Error CorruptRow(const RowPlace& place, std::string_view what);
// Returns the engine's error with the location prepended to its message.
Error At(const RowPlace& place, Error error);

}  // namespace everstep
