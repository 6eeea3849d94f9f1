#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cbor.h"
#include "serve/devkit/run_attributes.h"
#include "serve/devkit/world_caller.h"
#include "serve/devkit/world_error.h"
#include "store/state_store.h"

namespace everstep {

// How much of an entity to write.
enum class Detail : std::uint8_t { kFull, kOutline };

// Nullopt on success; the answer has then been written.
using WorldOutcome = std::optional<WorldError>;

// Reads runs, steps, hooks, waits and events from one snapshot and writes them as Workflow DevKit
// sees them, in CBOR. On an error the caller must discard what was written.
class WorldReader {
 public:
  // The caller's `spec` is the version of the protocol that the application speaks.
  WorldReader(StateReader& reader, const WorldCaller& caller)
      : reader_(reader),
        tenant_id_(caller.tenant_id),
        spec_(caller.spec),
        now_(caller.now),
        attributes_(caller.attributes) {}

  // Supplies consecutive events of a run, which are then not read from the store. `events` must
  // outlive the reader.
  void Know(std::span<const Event> events) { known_ = events; }

  // Rows of lists that calls have read so far, a measure of the work.
  std::size_t rows_read() const { return rows_read_; }

  // Returns the run if it belongs to the tenant, otherwise the error to answer with.
  std::variant<StoredRun, WorldError> FindRun(std::string_view run_id);

  Result<RunAttributes> AttributesOf(const StoredRun& run);

  // ---- entities, in their current or an earlier state
  WorldOutcome WriteRun(const StoredRun& run, Detail resolve, CborWriter& cbor);
  WorldOutcome WriteStep(const StoredRun& run, const std::string& step_id, const EntityState& step,
                         Detail resolve, CborWriter& cbor);
  WorldOutcome WriteHook(const StoredRun& run, const std::string& hook_id, const EntityState& hook,
                         Detail resolve, CborWriter& cbor);
  WorldOutcome WriteWait(const StoredRun& run, const std::string& wait_id, const EntityState& wait,
                         CborWriter& cbor);
  // Returns false if the protocol has no name for the event. From version 7 on such an event is
  // written as a "noop" that keeps its position.
  bool WriteEvent(const StoredRun& run, const Event& event, Detail resolve, CborWriter& cbor);

  // ---- calls, answered as described in docs/devkit.md
  // Answers the call with that method, which is one of those below.
  WorldOutcome Answer(std::string_view method, const CborItem& args, CborWriter& cbor);
  WorldOutcome GetRun(const CborItem& args, CborWriter& cbor);
  WorldOutcome ListRuns(const CborItem& args, CborWriter& cbor);
  WorldOutcome GetStep(const CborItem& args, CborWriter& cbor);
  WorldOutcome ListSteps(const CborItem& args, CborWriter& cbor);
  WorldOutcome GetEvent(const CborItem& args, CborWriter& cbor);
  WorldOutcome ListEvents(const CborItem& args, CborWriter& cbor);
  WorldOutcome ListEventsOf(const CborItem& args, CborWriter& cbor);  // by correlation id
  WorldOutcome GetHook(const CborItem& args, CborWriter& cbor);
  WorldOutcome ListHooks(const CborItem& args, CborWriter& cbor);

  // Writes the members events, cursor and hasMore for the page after `after`, the oldest first.
  struct Page {
    EventSeq after{};
    EventSeq before{UINT64_MAX};
    std::size_t limit = 1000;
    bool newest_first = false;
  };
  WorldOutcome WriteEvents(const StoredRun& run, std::string_view member, const Page& page,
                           Detail resolve, CborWriter& cbor);

 private:
  WorldOutcome WriteSteps(const StoredRun& run, Page& at, Detail resolve, bool& more,
                          CborWriter& cbor);
  // Finds the run named in `args`, or, as runtimes 4.x name none, the run that has the entity.
  std::variant<StoredRun, WorldError> FindRunOf(const CborItem& args, std::string_view entity_id);
  // Whether the token still refers to the hook.
  bool IsHeld(const HookHolder& holder) const {
    return holder.kept_until == Timestamp{} || holder.kept_until > now_;
  }
  // The data of the run's run_created; empty if there is none.
  Result<std::string> CreationOf(const StoredRun& run);
  Result<std::string> LastPayload(const StoredRun& run, EventType type, EventSeq until);
  Result<std::vector<Event>> ReadEvents(const StoredRun& run, const EventQuery& query);

  StateReader& reader_;
  const std::string tenant_id_;
  const std::uint32_t spec_;
  const Timestamp now_;
  AttributeCache* const attributes_;
  std::span<const Event> known_;
  std::size_t rows_read_ = 0;
};

Detail DetailOf(const CborItem& args);

}  // namespace everstep
