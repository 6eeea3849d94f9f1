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

// Holds the rows of one run against each other: events, keys, entities, and what must be in the
// index because of them.
class RunCheck {
 public:
  RunCheck(KeyedReader& reader, const StoredRun& run, const std::function<void(StoreFault)>& report)
      : reader_(reader), run_(run), report_(report) {}

  // An error only when the engine below cannot read on.
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
  // Damage is reported and passed over, anything else ends the check.
  Status Survive(Error error);
  Result<bool> Exists(Table table, std::string_view key);

  KeyedReader& reader_;
  const StoredRun& run_;
  const std::function<void(StoreFault)>& report_;
  RowKeys keys_;
  EventSeq last_seen_;
  Timestamp last_persisted_at_{};
  bool chains_known_ = true;  // false: an event could not be read or is of a type not known here
  std::array<EventSeq, kEventTypeCount + 1> last_of_type_{};
  std::map<EntityKey, EventSeq> last_of_entity_;
  std::set<Sha256Digest> seen_keys_;
  std::map<std::uint64_t, bool> keyed_;  // events that need a key row; false: one has led there
};

}  // namespace everstep
