#pragma once

#include <memory>

#include "everstep/result.h"
#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

enum class StoreAccess : std::uint8_t { kOwner, kReadOnly };

// A StateStore on sorted tables (rows: docs/formats.md). Writes the format's version into empty
// tables. kStoreFormatNewer when a newer version wrote them, kStoreNotFound when they are empty and
// only to be read, kStoreCorrupt when the rows that describe the store cannot be read.
Result<std::unique_ptr<StateStore>> OpenKeyedStore(std::unique_ptr<KeyValue> tables,
                                                   StoreAccess access = StoreAccess::kOwner);

}  // namespace everstep
