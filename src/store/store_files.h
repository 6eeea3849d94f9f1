#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "everstep/result.h"
#include "store/store_mark.h"

namespace everstep {

// A log file of a store. ListLogs returns them in the order in which they were written.
struct LogFile {
  std::uint64_t number = 0;
  std::string name;
};
Result<std::vector<LogFile>> ListLogs(const std::string& directory);

std::string LogName(std::uint64_t number);
// Return 12 for "000012.log", "000012.sst" and "MANIFEST-000012" respectively, and zero for other
// names.
std::uint64_t LogNumber(std::string_view name);
std::uint64_t TableNumber(std::string_view name);
std::uint64_t ManifestNumber(std::string_view name);

// Returns the name of the MANIFEST that CURRENT names. kStoreCorrupt if CURRENT is missing or names
// none, kStoreIo if it cannot be read.
Result<std::string> CurrentManifest(const std::string& directory);

// Checks the log files, CURRENT and the MANIFEST against each other and against the mark. Must be
// called before the engine opens them, because the engine takes what it cannot read for the end of
// the log and removes files that its MANIFEST does not name. Only reads.
//
// Ok: everything that was acknowledged is there, as far as these files show. A torn end of the log
// that was never acknowledged is Ok. kStoreCorrupt says which file is damaged and where, what
// follows the damage, and what to do.
//
// `has_mark`: a missing or unreadable mark is damage; otherwise no mark is read. `looker`: a
// visitor beside an owner that is writing checks acknowledged data only, because what the owner is
// writing right now looks like damage.
enum class Looker : std::uint8_t { kOwner, kVisitor };
Status InspectStoreFiles(const std::string& directory, bool has_mark, Looker looker);

// Checks only CURRENT and the MANIFEST, as InspectStoreFiles does for the owner.
Status InspectManifest(const std::string& directory, const HighWater& mark);

// Measures how far the files of a store reach, to initialize a mark. Nobody may have the store
// open.
Result<HighWater> MeasureStoreFiles(const std::string& directory);

// The sentence that ends every message about damage.
std::string DamageRemedy(const std::string& directory);

}  // namespace everstep
