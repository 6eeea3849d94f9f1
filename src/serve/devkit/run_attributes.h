#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/cbor.h"
#include "serve/devkit/world_error.h"
#include "store/state_store.h"

namespace everstep {

// A run's attributes: short texts set by the application through run_created and attr_set.
using RunAttributes = std::map<std::string, std::string, std::less<>>;

// The attributes of a run after the change `seen`.
struct AttributeView {
  RunAttributes attributes;
  EventSeq seen;
};

// Caches the folded attributes of runs with many changes, so that the next read only has to fold
// newer ones. Bounded. Thread-safe.
class AttributeCache {
 public:
  std::optional<AttributeView> Find(RunNo run);
  void Keep(RunNo run, const AttributeView& view);

 private:
  std::mutex mutex_;
  std::map<RunNo, AttributeView> views_;  // guarded by mutex_, like the next
  std::deque<RunNo> order_;               // in the order in which they were added
};

// Returns what is wrong with the attributes in the data of run_created; nullopt if they are valid.
std::optional<WorldError> CheckInitialAttributes(const CborItem* data);
// Returns what is wrong with the data of attr_set; nullopt if it is valid.
std::optional<WorldError> CheckAttributeChanges(const CborItem* data);
// Returns an error if the run would have too many attributes after the changes.
std::optional<WorldError> CheckAttributeCount(const RunAttributes& before, const CborItem& data);

// Applies the changes of an attr_set. Requires: CheckAttributeChanges has accepted it.
void ApplyAttributeChanges(const CborItem& data, RunAttributes& attributes);

// Folds the attributes from the run's log, in linear time. `created` is the data of its
// run_created, as JSON. `cache` may be null. Adds the number of changes that were read to `rows`.
Result<RunAttributes> ReadAttributes(StateReader& reader, const StoredRun& run,
                                     std::string_view created, AttributeCache* cache,
                                     std::size_t& rows);

}  // namespace everstep
