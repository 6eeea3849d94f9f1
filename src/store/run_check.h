#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/keyed_reader.h"
#include "store/state_store.h"

namespace everstep {

// Checks the rows of one run against each other: events, keys, entities, and the index rows that
// they require.
class RunCheck {
 public:
  RunCheck(KeyedReader& reader, const StoredRun& run, const std::function<void(StoreFault)>& report)
      : reader_(reader), run_(run), report_(report) {}

  // Returns an error only if the engine below cannot continue reading.
  Status Run();

 private:
  Status CheckListed();
  Status CheckEvents();
  Status CheckEvent(const Event& event);
  Status CheckKeyOf(const Event& event);
  void CheckHeads();
  Status CheckKeys();
  Status CheckEntities();
  Status CheckEntity(const EntityKey& key, const EntityState& state);

  void Report(std::string what) { report_({run_.run_id.value(), std::move(what)}); }
  // Reports damage and returns Ok. Returns any other error, which ends the check.
  Status Survive(Error error);
  Result<bool> Exists(Table table, std::string_view key);

  KeyedReader& reader_;
  const StoredRun& run_;
  const std::function<void(StoreFault)>& report_;
  RowKeys keys_;
  EventSeq last_seen_;
  Timestamp last_persisted_at_{};
  bool chains_known_ = true;  // false: an event is missing, unreadable or of an unknown type
  std::array<EventSeq, kEventTypeCount + 1> last_of_type_{};
  std::map<EntityKey, EventSeq> last_of_entity_;
  std::set<Sha256Digest> seen_keys_;
  std::map<std::uint64_t, bool> keyed_;  // events that need a key row; false: it was found
};

}  // namespace everstep
