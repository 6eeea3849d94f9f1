#pragma once

#include <functional>

#include "store/keyed_reader.h"
#include "store/state_store.h"

namespace everstep {

// Walks every row of the view and reports each inconsistency between rows. Returns an error only if
// the engine below cannot continue reading.
Status CheckRows(KeyedReader& reader, const std::function<void(StoreFault)>& report);

}  // namespace everstep
