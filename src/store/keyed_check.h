#pragma once

#include <functional>

#include "store/keyed_reader.h"
#include "store/state_store.h"

namespace everstep {

// Walks every row of the view and reports each that does not agree with the others. An error only
// when the engine below cannot read on.
Status CheckRows(KeyedReader& reader, const std::function<void(StoreFault)>& report);

}  // namespace everstep
