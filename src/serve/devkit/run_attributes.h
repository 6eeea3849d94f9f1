#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/cbor.h"
#include "serve/devkit/world_error.h"
#include "store/state_store.h"

namespace everstep {

// A run's attributes: short texts that the application sets with run_created and attr_set.
using RunAttributes = std::map<std::string, std::string, std::less<>>;

// What is wrong with the attributes in the data of run_created; nothing: they are fine.
std::optional<WorldError> CheckInitialAttributes(const CborItem* data);
// What is wrong with the data of attr_set.
std::optional<WorldError> CheckAttributeChanges(const CborItem* data);
// Whether the run would have too many after the changes.
std::optional<WorldError> CheckAttributeCount(const RunAttributes& before, const CborItem& data);

// Folded from the run's log. `created` is the data of its run_created, JSON.
Result<RunAttributes> ReadAttributes(StateReader& reader, const StoredRun& run,
                                     std::string_view created);

}  // namespace everstep
