#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/named.h"
#include "base/timestamp.h"
#include "event/event.h"
#include "everstep/engine.h"
#include "run/admission_scopes.h"
#include "run/fair_queue.h"

namespace everstep {

// The right to start one run, once. A later lease of the same run has a greater epoch. Epochs begin
// anew with each process, as leases do not outlive it.
using LeaseEpoch = Named<struct LeaseEpochTag, std::uint64_t>;

// A run as admission sees it.
struct AdmissionRun {
  RunId run_id;
  std::string tenant;
  std::string project;
  std::string key;  // concurrency key of the plan; empty: none
  std::int32_t priority = 0;
  Timestamp start_at{};  // not before this time; unset: at once
};

// What keeps a run from starting.
struct AdmissionBlock {
  AdmissionLevel level = AdmissionLevel::kEngine;
  AdmissionBound bound = AdmissionBound::kNone;
  std::string message{};                // a sentence with the numbers
  std::optional<Timestamp> wakes_at{};  // set if the block ends at a known time
};

struct AdmissionDecision {
  enum class Verdict : std::uint8_t { kStart, kQueue, kDelay, kReject };
  Verdict verdict = Verdict::kStart;
  LeaseEpoch epoch{};                       // kStart: Confirm or Release it
  std::uint64_t position = 0;               // kQueue: from 1, like Position
  Timestamp start_at{};                     // kDelay
  std::chrono::microseconds retry_after{};  // kReject
  AdmissionBlock block{};                   // kQueue, kDelay, kReject: why
};

struct RunLease {
  RunId run_id;
  LeaseEpoch epoch;
};

// Decides which runs may start, and when.
//
// A run is pending (queued, or delayed until a time), leased, or running. A leased run counts as
// running from the moment the lease is given, so limits are never exceeded, whatever the outcome of
// the start. A run has at most one lease at a time, and only the holder of its epoch can settle it,
// so that no run is started twice.
//
// There are limits at four levels (engine, tenant, project of a tenant, key of a tenant), each for
// concurrent runs and for starts over time. A run that is blocked by its own limits does not block
// the runs after it.
//
// All state can be rebuilt with Restore. Memory is bounded: tenants, projects and keys without runs
// are forgotten as soon as their token bucket is full. O(log n) per run. Not thread-safe.
// Deterministic: time is passed in as an argument.
//
// Call Next after every call that may free something (Ended, Forget, Release, ExpireLeases,
// Restore), after a Request that did not return kStart, and at NextWake. Any Next after its Request
// may lease a run, so a caller that records that a run was queued must do so before it starts the
// run.
class Admission {
 public:
  enum class RestoredAs : std::uint8_t { kQueued, kRunning };
  enum class StartFailure : std::uint8_t { kTransient, kPermanent };

  explicit Admission(AdmissionPolicy policy);
  ~Admission();

  // Requires: !Knows(run.run_id). A run whose start_at is in the future is delayed until then. A
  // run that no limit blocks and that is next starts (kStart, with a lease). A run that no limit
  // blocks and that is not next is queued. For all others the policy decides: queue, delay or
  // reject. A run that would have to wait is rejected if its tenant has queue_max runs pending. A
  // rejected run is unknown again.
  AdmissionDecision Request(const AdmissionRun& run, Timestamp now);

  // Like Request, for a run that must not be rejected: it becomes pending, regardless of limits.
  void Keep(const AdmissionRun& run, Timestamp now);

  // Leases the runs that may start now, at most `runs_max`, and returns them in order.
  std::vector<RunLease> Next(Timestamp now, std::size_t runs_max);

  // When Next may return a run; `now` if it would already. Empty: only after a run ends.
  std::optional<Timestamp> NextWake(Timestamp now);

  // To be called when RunStarted is durable: the leased run becomes a running run. Returns false
  // and changes nothing if the epoch is not current (the lease has expired, or the run is gone). If
  // the run did start, the caller confirms its next lease without starting it again.
  [[nodiscard]] bool Confirm(const RunId& run_id, LeaseEpoch epoch);

  // To be called when a start has failed; its tokens are given back. Transient: the run is pending
  // again in its old place, but does not start before `not_before`. Permanent: the run is
  // forgotten. Returns false like Confirm.
  [[nodiscard]] bool Release(const RunId& run_id, LeaseEpoch epoch, StartFailure failure,
                             Timestamp not_before = {});

  // Expires leases that are at least `ttl` old. Their runs are pending again in their old place and
  // are returned. Their tokens stay spent, as the start may have happened.
  std::vector<RunId> ExpireLeases(Timestamp now, std::chrono::microseconds ttl);

  // Removes a run that has ended, whatever its state here. Returns false if it is unknown.
  bool Ended(const RunId& run_id);
  // Removes a pending or leased run that is no longer wanted. Returns false if it is unknown or
  // running.
  bool Forget(const RunId& run_id);

  // For recovery: counts the run as it was, regardless of limits, and takes no tokens. Queued runs
  // that are restored with their QueuedAt get their old places, whatever the order of the calls. A
  // start_at in the future delays the run. Returns false if the run is already known.
  bool Restore(const AdmissionRun& run, RestoredAs state, Timestamp queued_at);

  bool Knows(const RunId& run_id) const { return runs_.contains(run_id); }
  // When the run arrived. Unique, except for runs that were restored with equal times.
  // Requires: Knows(run_id).
  Timestamp QueuedAt(const RunId& run_id) const;
  // The position in the order of its tenant, from 1 (FairQueue::Position); zero: not queued.
  std::uint64_t Position(const RunId& run_id) const;
  // Why the run has not started; empty: it is running or unknown. Reports the nearest cause: its
  // own start time, its key, project, tenant, the engine, or the runs ahead of it.
  std::optional<AdmissionBlock> Why(const RunId& run_id, Timestamp now);

  std::uint64_t pending() const { return queue_.size() + delayed_.size(); }
  // When the run that has been queued longest arrived.
  std::optional<Timestamp> oldest() const { return queue_.oldest(); }
  std::uint64_t leased() const { return leases_.size(); }
  std::uint64_t running() const { return scopes_.engine().running() - leases_.size(); }
  std::uint64_t PendingOf(const std::string& tenant) const;
  std::uint64_t leases_expired() const { return leases_expired_; }
  // How many tenants, projects and keys are in memory.
  std::size_t scopes_known() const { return scopes_.size(); }

 private:
  struct Entry;
  using Timed = std::set<std::pair<Timestamp, std::uint64_t>>;  // and number of the run

  Entry& Add(const AdmissionRun& run, Timestamp queued_at);
  Timestamp Arrival();
  void Enqueue(Entry& entry);
  void Delay(Entry& entry, Timestamp until);
  void LeavePending(Entry& entry);
  void LeaveRunning(Entry& entry);
  void Drop(Entry& entry);
  // The next run that may start, or null.
  Entry* Head();
  RunLease Lease(Entry& entry);
  Entry* Find(const RunId& run_id) const;
  Entry* FindLeased(const RunId& run_id, LeaseEpoch epoch) const;
  void Advance(Timestamp now);
  void LeasesSinceClockStep();
  AdmissionDecision HoldBack(Entry& entry, AdmissionBlock block);
  AdmissionDecision Reject(Entry& entry, AdmissionBlock block);
  bool IsFull(const Entry& entry) const;
  AdmissionBlock FullQueue(const Entry& entry) const;
  std::optional<AdmissionBlock> BlockOf(const Entry& entry) const;
  AdmissionBlock WhyPending(const Entry& entry) const;

  const AdmissionPolicy policy_;
  FairQueue queue_;
  AdmissionScopes scopes_;
  std::unordered_map<RunId, std::unique_ptr<Entry>> runs_;
  std::unordered_map<std::uint64_t, Entry*> by_number_;
  Timed delayed_;
  Timed leases_;     // by the time they were given
  Timestamp now_{};  // the latest time since the clock was last set back
  Timestamp last_arrival_{};
  std::uint64_t runs_made_ = 0;
  std::uint64_t last_epoch_ = 0;
  std::uint64_t leases_expired_ = 0;
};

}  // namespace everstep
