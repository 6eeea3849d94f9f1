// Changes of sinks. They are durable before they become visible.

#include <algorithm>
#include <utility>

#include "bus/event_bus.h"

namespace everstep {

// One mutex per tenant: a change of a sink waits only for other changes of the same tenant.
std::shared_ptr<std::mutex> EventBus::ChangesOf(const std::string& tenant_id) {
  std::shared_ptr<std::mutex>& changes = changes_[tenant_id];
  if (!changes) changes = std::make_shared<std::mutex>();
  return changes;
}

Result<EventBus::Change> EventBus::BeginChange(const Caller& caller, const std::string& sink_id) {
  while (true) {
    std::string tenant_id;
    std::shared_ptr<std::mutex> changes;
    {
      const std::lock_guard lock(mutex_);
      const auto found = Find(caller, sink_id);
      if (!found) return found.error();
      tenant_id = (*found)->key.tenant_id;
      changes = ChangesOf(tenant_id);
    }
    Change change{changes, std::unique_lock(*changes), nullptr};
    const std::lock_guard lock(mutex_);
    const auto found = Find(caller, sink_id);
    if (!found) return found.error();
    // In the meantime the name may have come to refer to the server's sink instead.
    if ((*found)->key.tenant_id != tenant_id) continue;
    change.entry = *found;
    return change;
  }
}

// Waits for the sink's deliveries in flight, without holding mutex_.
void EventBus::Halt(Entry& entry) {
  std::unique_ptr<SinkRunner> halted;
  {
    const std::lock_guard lock(mutex_);
    halted = std::move(entry.runner);
  }
}

Status EventBus::CheckRoom(const Caller& caller) const {
  std::uint64_t all = making_;
  std::uint64_t theirs = 0;
  for (const auto& [key, entry] : sinks_) {
    if (!key.tenant_id.empty()) ++all;
    if (key.tenant_id == caller.tenant_id) ++theirs;
  }
  const SharedLimit limit{options_.sinks_max, options_.tenant_share};
  switch (limit.Ask(all, theirs, caller.server)) {
    case SharedLimit::Answer::kRoom:
      return Ok();
    case SharedLimit::Answer::kTenantFull:
      return Error{
          ErrorCode::kInvalidArgument,
          "sink limit reached: the tenant already has " + std::to_string(theirs) + " sinks",
          {}};
    case SharedLimit::Answer::kFull:
      break;
  }
  return Error{ErrorCode::kInvalidArgument,
               "sink limit reached: there are already " + std::to_string(all) + " sinks",
               {}};
}

Result<EventBus::PutAnswer> EventBus::Put(const Caller& caller, const std::string& sink_id,
                                          std::string_view text) {
  const SinkRules rules{SinkOwner::kTenant, options_.private_addresses, options_.brokers};
  auto definition = ReadSinkDefinition(text, sink_id, rules);
  if (!definition) return std::move(definition).error();
  const SinkKey key{caller.tenant_id, sink_id};
  std::shared_ptr<std::mutex> changes;
  {
    const std::lock_guard lock(mutex_);
    changes = ChangesOf(caller.tenant_id);
  }
  const std::lock_guard change(*changes);
  EntryPtr before;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = sinks_.find(key); found != sinks_.end()) before = found->second;
    if (!before) {
      if (const Status room = CheckRoom(caller); !room) return room.error();
      ++making_;
    }
  }
  const EntryPtr entry = std::make_shared<Entry>(
      Entry{key, *std::move(definition), before && before->paused, {}, nullptr});
  const Status kept = PutDefinition(*entry);
  if (kept && before) Halt(*before);
  {
    const std::lock_guard lock(mutex_);
    if (!before) --making_;
    if (kept) sinks_[key] = entry;
  }
  if (!kept) return kept.error();
  Start(*entry);
  const std::lock_guard lock(mutex_);
  return PutAnswer{ViewOf(*entry), before != nullptr};
}

Status EventBus::Remove(const Caller& caller, const std::string& sink_id) {
  const auto change = BeginChange(caller, sink_id);
  if (!change) return change.error();
  Entry& entry = *change->entry;
  const SinkKey key = entry.key;
  if (key.tenant_id.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "sink " + sink_id + " is in the server's settings; remove it there",
                 {}};
  }
  // Stop the runner first: its last write saves the position and must not follow the removal.
  Halt(entry);
  const Status removed = parts_.log.committer().CarryOut(ForgetSink{key});
  if (!removed) {
    if (!entry.unreadable) Start(entry);
    return removed;
  }
  const std::lock_guard lock(mutex_);
  sinks_.erase(key);
  return Ok();
}

Status EventBus::SetPaused(const Caller& caller, const std::string& sink_id, bool paused) {
  const auto change = BeginChange(caller, sink_id);
  if (!change) return change.error();
  Entry& entry = *change->entry;
  if (entry.unreadable) {
    return Error{ErrorCode::kStoreCorrupt, "sink " + sink_id + ": " + entry.fault, {}};
  }
  // Stop the runner first: its last write saves the position, which is written again here.
  Halt(entry);
  auto mark = MarkOf(entry);
  if (mark) mark->open = true;
  const Status kept =
      mark ? parts_.log.committer().CarryOut(SinkMove{*mark, {}, {}, Stored(entry, paused)})
           : Status(mark.error());
  if (kept) {
    const std::lock_guard lock(mutex_);
    entry.paused = paused;
  }
  Start(entry);
  return kept;
}

// Writes the definition. A new sink gets its mark in the same write, because sinks are opened by
// their marks; the mark of an existing one belongs to its runner.
Status EventBus::PutDefinition(const Entry& entry) {
  const auto mark = parts_.log.store().Read()->FindSink(entry.key);
  if (!mark) return mark.error();
  std::string text = Stored(entry, entry.paused);
  Committer& committer = parts_.log.committer();
  if (*mark) return committer.Put({{SinkDocumentKey(entry.key), std::move(text)}});
  return committer.CarryOut(SinkMove{FirstMark(entry), {}, {}, std::move(text)});
}

}  // namespace everstep
