#pragma once

#include <string_view>

#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

std::string_view Name(Table table);

// Where a row is kept, for messages.
struct RowPlace {
  Table table{};
  std::string_view run_id{};  // empty: not known
  RunNo run{};                // zero: not of a run
  EventSeq seq{};             // zero: not an event
};

// kStoreCorrupt that names the place and says what is wrong there.
Error CorruptRow(const RowPlace& place, std::string_view what);
// The engine's own error with the place added.
Error At(const RowPlace& place, Error error);

}  // namespace everstep
