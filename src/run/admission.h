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

// The right to start one run, once. A later lease of the same run has a greater epoch; epochs begin
// anew with the process, as leases do not outlive it.
using LeaseEpoch = Named<struct LeaseEpochTag, std::uint64_t>;

// A run as admission sees it.
struct AdmissionRun {
  RunId run_id;
  std::string tenant;
  std::string project;
  std::string key;  // concurrency key of the plan; empty: none
  std::int32_t priority = 0;
  Timestamp start_at{};  // not before; unset: at once
};

// What keeps a run from starting.
struct AdmissionBlock {
  AdmissionLevel level = AdmissionLevel::kEngine;
  AdmissionBound bound = AdmissionBound::kNone;
  std::string message{};                // a sentence with the numbers
  std::optional<Timestamp> wakes_at{};  // if time alone decides
};

struct AdmissionDecision {
  enum class Verdict : std::uint8_t { kStart, kQueue, kDelay, kReject };
  Verdict verdict = Verdict::kStart;
  LeaseEpoch epoch{};                       // kStart: Confirm or Release it
  std::uint64_t position = 0;               // kQueue: from 1, as Position
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
// A run is pending (queued, or delayed until a time), leased, or running. A lease counts as a
// running run from the moment it is given: limits are never exceeded, whatever becomes of the
// start. One run has at most one lease at a time, and only the holder of its epoch can settle it,
// so that a run is not started twice.
//
// Limits at four levels (engine, tenant, project of a tenant, key of a tenant), each of runs at
// once and of starts over time. A run that is held by its own limits does not hold others behind
// it.
//
// All state can be rebuilt with Restore. Bounded: tenants, projects and keys without runs are
// forgotten as soon as their token bucket is full. O(log n) per run. Not thread-safe, and a
// function of its calls alone; time comes in as an argument.
//
// Call Next after every call that may free something (Ended, Forget, Release, ExpireLeases,
// Restore), after a Request that was not answered kStart, and at NextWake. A run may be leased by
// any Next after its Request: who records that it was queued does so before he starts it.
class Admission {
 public:
  enum class RestoredAs : std::uint8_t { kQueued, kRunning };
  enum class StartFailure : std::uint8_t { kTransient, kPermanent };

  explicit Admission(AdmissionPolicy policy);
  ~Admission();

  // The run must be new here (Knows). A run whose start_at is to come is delayed until then. One
  // that nothing holds and that is next starts (kStart, with a lease). Else the policy decides:
  // queue, delay or reject; a run that no limit holds and that is just not next is always queued.
  // Rejected where the tenant has queue_max runs pending. A rejected run is unknown again.
  AdmissionDecision Request(const AdmissionRun& run, Timestamp now);

  // The same for a run that was promised to be kept: it is pending, beyond all limits.
  void Keep(const AdmissionRun& run, Timestamp now);

  // At most `runs_max` runs that may start now, in order, each with a lease.
  std::vector<RunLease> Next(Timestamp now, std::size_t runs_max);

  // When Next may have something to give: `now` if it has already. Empty: only when a run ends.
  std::optional<Timestamp> NextWake(Timestamp now);

  // RunStarted is durable: the lease becomes a running run. False: the epoch is not the one that
  // counts (the lease has expired, or the run is gone) and nothing has changed. If the run is in
  // fact started, its next lease is confirmed in turn without starting it again.
  [[nodiscard]] bool Confirm(const RunId& run_id, LeaseEpoch epoch);

  // The start has failed. Transient: the run is pending again in its old place, but not before
  // `not_before`, and its tokens are given back. Permanent: it is forgotten. False as in Confirm.
  [[nodiscard]] bool Release(const RunId& run_id, LeaseEpoch epoch, StartFailure failure,
                             Timestamp not_before = {});

  // Leases that are `ttl` old or older: the runs are pending again in their old place and listed.
  // Their tokens stay spent, as the start may have happened.
  std::vector<RunId> ExpireLeases(Timestamp now, std::chrono::microseconds ttl);

  // The run has ended, in whatever state it was here. False: it is unknown.
  bool Ended(const RunId& run_id);
  // A run that is pending or leased is not wanted any more. False: it is unknown or running.
  bool Forget(const RunId& run_id);

  // For recovery: counts the run as it was, beyond all limits, and takes no tokens. With what
  // QueuedAt said queued runs have the places they had, in whatever order they are restored;
  // start_at counts. False: it is known.
  bool Restore(const AdmissionRun& run, RestoredAs state, Timestamp queued_at);

  bool Knows(const RunId& run_id) const { return runs_.contains(run_id); }
  // When the run came; no two have the same time unless they were restored with it. The run must be
  // known.
  Timestamp QueuedAt(const RunId& run_id) const;
  // From 1, in the order of its tenant (FairQueue::Position). Zero: not queued.
  std::uint64_t Position(const RunId& run_id) const;
  // Of a pending or leased run; empty: it is running or unknown. The nearest cause first: its own
  // start time, its key, project, tenant, the engine, then those ahead of it.
  std::optional<AdmissionBlock> Why(const RunId& run_id, Timestamp now);

  std::uint64_t pending() const { return queue_.size() + delayed_.size(); }
  // When the run that is queued for the longest time came.
  std::optional<Timestamp> oldest() const { return queue_.oldest(); }
  std::uint64_t leased() const { return leases_.size(); }
  std::uint64_t running() const { return scopes_.engine().running() - leases_.size(); }
  std::uint64_t PendingOf(const std::string& tenant) const;
  std::uint64_t leases_expired() const { return leases_expired_; }
  // Tenants, projects and keys in memory.
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
  // The next run that may start; null: none.
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
  Timed leases_;     // by when they were given
  Timestamp now_{};  // the latest, since the clock was last set back
  Timestamp last_arrival_{};
  std::uint64_t runs_made_ = 0;
  std::uint64_t last_epoch_ = 0;
  std::uint64_t leases_expired_ = 0;
};

}  // namespace everstep
