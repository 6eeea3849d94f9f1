// Views and explanations of runs, and the engine's metrics.

#include <algorithm>
#include <utility>

#include "run/local_engine.h"

namespace everstep {
namespace {

bool WaitsToStart(std::string_view status) { return status == "PENDING" || status == "APPROVED"; }

bool HasEnded(std::string_view status) {
  const auto named = RunStatusNamed(status);
  return named && IsTerminal(*named);
}

std::optional<SystemTime> TimeOf(std::optional<Timestamp> time) { return time; }

void PutFirst(Explanation& to, Blocker blocker) {
  to.summary = blocker.message;
  to.blockers.insert(to.blockers.begin(), std::move(blocker));
}

Blocker StoreBlocker(const Error& fault) {
  const bool full = fault.code == ErrorCode::kStoreFull;
  Blocker blocker;
  blocker.kind = "store";
  blocker.subject = Name(fault.code);
  blocker.message = full ? "the disk is full, so the store accepts no writes (" + fault.message +
                               "); the run continues automatically once there is space"
                         : "the store has stopped (" + fault.message +
                               "); no run continues until the process is restarted";
  return blocker;
}

}  // namespace

void LocalEngine::AddBackend(ExecutionBackend& backend) {
  const std::lock_guard lock(backends_mutex_);
  backends_.push_back(&backend);
}

void LocalEngine::RemoveBackend(ExecutionBackend& backend) {
  const std::lock_guard lock(backends_mutex_);
  std::erase(backends_, &backend);
}

std::optional<LocalEngine::Elsewhere> LocalEngine::FindElsewhere(const RunId& run_id) {
  auto run = log_->store().Read()->FindRun(run_id);
  if (!run || !*run || !(*run)->quarantine.empty()) return std::nullopt;
  if (!LoggedBackend::Has((*run)->state)) return std::nullopt;
  std::shared_lock lock(backends_mutex_);
  const auto found = std::ranges::find_if(backends_, [&run](const ExecutionBackend* backend) {
    return (*run)->state.engine_run_ref.starts_with(backend->prefix());
  });
  ExecutionBackend& backend = found == backends_.end() ? logged_ : **found;
  return Elsewhere{std::move(**run), backend, std::move(lock)};
}

Result<RunView> LocalEngine::View(std::string_view run_id) {
  const RunId id{std::string(run_id)};
  if (const auto elsewhere = FindElsewhere(id)) return elsewhere->backend.View(elsewhere->run);
  auto view = Look<RunView>(run_id, [](const Execution& run) { return run.View(); });
  if (!view || !WaitsToStart(view->status)) return view;
  const std::lock_guard lock(admission_mutex_);
  view->queue_position = admission_.Position(id);
  return view;
}

Result<Explanation> LocalEngine::Why(std::string_view run_id) {
  const RunId id{std::string(run_id)};
  if (const auto elsewhere = FindElsewhere(id)) return elsewhere->backend.Why(elsewhere->run);
  auto why = Look<Explanation>(run_id, [this](const Execution& run) {
    Explanation explanation = run.Why();
    for (Blocker& blocker : explanation.blockers) {
      if (blocker.kind != "slot") continue;
      const std::string more = slots_.Why(run.run_id(), blocker.subject);
      if (!more.empty()) blocker.message = "step " + blocker.subject + " " + more;
    }
    return explanation;
  });
  const auto fault = StoreFault();
  if (!why && fault && why.error().code == ErrorCode::kStoreStopped) {
    return ExplainStopped(id, *fault);
  }
  if (!why) return why;
  if (WaitsToStart(why->status)) ExplainAdmission(id, *why);
  if (fault && !HasEnded(why->status)) PutFirst(*why, StoreBlocker(*fault));
  return why;
}

void LocalEngine::ExplainAdmission(const RunId& id, Explanation& to) {
  const std::lock_guard lock(admission_mutex_);
  const auto block = admission_.Why(id, clock_.Now());
  if (!block) return;
  const std::uint64_t position = admission_.Position(id);
  Blocker blocker{
      "admission", std::string(ToString(block->level)), block->message, 1, TimeOf(block->wakes_at),
      {}};
  if (position > 0) blocker.message += "; position " + std::to_string(position) + " in the queue";
  PutFirst(to, std::move(blocker));
}

std::optional<Error> LocalEngine::StoreFault() {
  for (const auto& lane : lanes_) {
    if (auto fault = lane->StoreFault()) return fault;
  }
  return std::nullopt;
}

// The lanes no longer answer, but the durable state can still be read.
Result<Explanation> LocalEngine::ExplainStopped(const RunId& run_id, const Error& fault) {
  const auto run = log_->store().Read()->FindRun(run_id);
  if (!run) return run.error();
  if (!*run) return Error{ErrorCode::kRunNotFound, "there is no run " + run_id.value(), {}};
  const RunStatus status = (*run)->state.status;
  Explanation why{run_id.value(), std::string(Name(status)), {}, {}, {}};
  if (IsTerminal(status)) {
    why.summary = "the run is " + why.status;
  } else {
    PutFirst(why, StoreBlocker(fault));
  }
  return why;
}

std::size_t LocalEngine::Backlog() {
  std::size_t orders = 0;
  for (const auto& lane : lanes_) orders += lane->Backlog();
  return orders;
}

Result<bool> LocalEngine::WaitForEnd(std::string_view run_id, std::chrono::milliseconds wait) {
  const RunId id{std::string(run_id)};
  Result<bool> over = false;
  const auto look = [&] {
    const auto run = log_->store().Read()->FindRun(id);
    if (!run) {
      over = run.error();
    } else if (!*run) {
      over = Error{ErrorCode::kRunNotFound, "there is no run " + id.value(), {}};
    } else {
      over = IsTerminal((*run)->state.status);
    }
    return stop_ || !over || *over;
  };
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, wait, look);
  return over;
}

EngineMetrics LocalEngine::Metrics() {
  EngineMetrics metrics;
  metrics.runs_started = counters_.runs_started;
  metrics.runs_ended = counters_.runs_ended;
  metrics.runs_in_memory = counters_.runs_in_memory;
  metrics.run_bytes = counters_.run_bytes;
  metrics.steps_started = counters_.steps_started;
  metrics.steps_ended = counters_.steps_ended;
  metrics.steps_redelivered = counters_.steps_redelivered;
  metrics.timers_fired = timers_fired_;
  metrics.timer_lateness_us_sum = lateness_us_sum_;
  metrics.timer_lateness_us_max = lateness_us_max_;
  metrics.state_store_writes = counters_.writes;
  metrics.state_store_write_latency_us_sum = counters_.write_us_sum;
  metrics.state_store_write_latency_us_max = counters_.write_us_max;
  metrics.state_store_write_timeouts = counters_.write_timeouts;
  metrics.state_store_buffered_events = counters_.buffered_events;
  const std::lock_guard lock(admission_mutex_);
  metrics.run_queue_pending = admission_.pending();
  if (const auto since = admission_.oldest()) {
    const auto age = std::max(clock_.Now() - *since, Timestamp::duration::zero());
    metrics.run_queue_oldest_us = static_cast<std::uint64_t>(age.count());
  }
  metrics.run_queue_leases_expired = admission_.leases_expired();
  metrics.run_queue_start_failures = start_failures_;
  return metrics;
}

}  // namespace everstep
