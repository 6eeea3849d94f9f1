#pragma once

#include <memory>

#include "everstep/result.h"
#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

enum class StoreAccess : std::uint8_t { kOwner, kReadOnly };

// Opens a StateStore over sorted tables (rows: docs/formats.md). Writes the format version into
// empty tables. kStoreFormatNewer if a newer version wrote the tables, kStoreNotFound if they are
// empty and access is read-only, kStoreCorrupt if the rows that describe the store cannot be read.
Result<std::unique_ptr<StateStore>> OpenKeyedStore(std::unique_ptr<KeyValue> tables,
                                                   StoreAccess access = StoreAccess::kOwner);

}  // namespace everstep
