#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/dialect.h"
#include "event/event.h"
#include "machine/state.h"

namespace everstep {

// A log as plainly as it can be said: maps and vectors in memory, one decision at a time, nothing
// ever fails. It states the rules a second time, in its own words; of the product it shares the
// words for events and states and the formula of the key. A value: a copy is a point to return to.
class ReferenceLog {
 public:
  // A step, hook, wait, tool …
  struct Thing {
    EntityStatus status = EntityStatus::kAbsent;
    std::uint32_t attempt = 0;
    std::uint32_t engine_attempt = 0;
    std::uint32_t starts = 0;
    bool will_retry = false;
    std::string token;
  };

  struct Run {
    std::uint64_t incarnation = 0;  // tells a run from an earlier one of the same id
    RunScope scope;
    KeyVersion key_version = KeyVersion::kV1;
    RunStatus status = RunStatus::kAbsent;
    std::uint32_t pauses = 0;
    std::uint32_t engine_attempt = 0;
    // Without persisted_at and chains. An event whose id the authority makes has none here, and its
    // instance, if that ends in the id, ends in "/".
    std::vector<Event> events;
    std::map<Sha256Digest, std::size_t> by_key;
    std::map<EntityKey, Thing> things;

    std::uint64_t Count(EntityKind kind, EntityStatus status) const;
  };
  using Runs = std::map<RunId, std::shared_ptr<const Run>>;

  struct Answer {
    std::optional<ErrorCode> refused;
    EventSeq seq;                // of the order's first event
    std::size_t new_events = 0;  // zero for a duplicate; a start that is implied does not count
    bool payload_mismatch = false;
    std::uint64_t incarnation = 0;  // of the run it was decided on; zero: there was none
    std::size_t events_before = 0;  // in the run when it was decided
  };

  Answer Append(const AppendOrder& order, const RunScope& defaults);
  // Retention: removes those of `runs` that have ended, after the tombstones older than `expired`.
  std::size_t Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired);

  const Runs& runs() const { return runs_; }
  const std::map<RunId, Timestamp>& tombstones() const { return tombstones_; }
  const Run* Find(const RunId& run_id) const;
  // The active hook with this token.
  std::optional<std::pair<RunId, std::string>> HolderOf(std::string_view tenant_id,
                                                        std::string_view token) const;

 private:
  std::optional<ErrorCode> Place(Run& run, const EventWrite& write, const RunScope& defaults,
                                 Answer& answer);

  Runs runs_;
  std::map<RunId, Timestamp> tombstones_;
  std::uint64_t incarnations_ = 0;
};

}  // namespace everstep
