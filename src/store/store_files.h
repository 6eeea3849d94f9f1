#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "everstep/result.h"
#include "store/store_mark.h"

namespace everstep {

// The log files of a store on disk, in the order in which they were written.
struct LogFile {
  std::uint64_t number = 0;
  std::string name;
};
Result<std::vector<LogFile>> ListLogs(const std::string& directory);

std::string LogName(std::uint64_t number);
// "000012.log" or "MANIFEST-000012": 12. Zero: it is neither.
std::uint64_t LogNumber(std::string_view name);
std::uint64_t ManifestNumber(std::string_view name);

// Holds the log files, CURRENT and the MANIFEST against each other and against the mark, before the
// engine opens them: it takes what it cannot read for the end of the log, and removes what its
// MANIFEST does not name. Reads only.
//
// Ok: whatever was acknowledged is there, as far as these files tell. A torn end that nobody was
// told of is Ok. kStoreCorrupt says which file is damaged, where, what follows, and what to do.
// `has_mark`: a mark that is missing or cannot be read is damage; without it none is looked at.
// `looker`: beside an owner that writes only what was acknowledged counts, since what it is writing
// right now looks like damage.
enum class Looker : std::uint8_t { kOwner, kVisitor };
Status InspectStoreFiles(const std::string& directory, bool has_mark, Looker looker);

// How far the files of a store reach that nobody has open, for a mark to begin with.
Result<HighWater> MeasureStoreFiles(const std::string& directory);

// The sentence that ends every message about damage.
std::string DamageRemedy(const std::string& directory);

}  // namespace everstep
