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

// A run's attributes: short texts that the application sets with run_created and attr_set.
using RunAttributes = std::map<std::string, std::string, std::less<>>;

// The attributes that a run has after the change `seen`.
struct AttributeView {
  RunAttributes attributes;
  EventSeq seen;
};

// What was folded of runs with many changes, so that the next look reads what came since. Keeps a
// bounded number. Thread-safe.
class AttributeCache {
 public:
  std::optional<AttributeView> Find(RunNo run);
  void Keep(RunNo run, const AttributeView& view);

 private:
  std::mutex mutex_;
  std::map<RunNo, AttributeView> views_;  // guarded by mutex_, as the next
  std::deque<RunNo> order_;               // in which they were added
};

// What is wrong with the attributes in the data of run_created; nothing: they are fine.
std::optional<WorldError> CheckInitialAttributes(const CborItem* data);
// What is wrong with the data of attr_set.
std::optional<WorldError> CheckAttributeChanges(const CborItem* data);
// Whether the run would have too many after the changes.
std::optional<WorldError> CheckAttributeCount(const RunAttributes& before, const CborItem& data);

// Makes the changes of an attr_set that was checked.
void ApplyAttributeChanges(const CborItem& data, RunAttributes& attributes);

// Folded from the run's log. `created` is the data of its run_created, JSON. `cache` may be null.
Result<RunAttributes> ReadAttributes(StateReader& reader, const StoredRun& run,
                                     std::string_view created, AttributeCache* cache);

}  // namespace everstep
