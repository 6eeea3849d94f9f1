#include "run/local_engine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/shared_limit.h"
#include "event/identifier.h"

namespace everstep {
namespace {

// While more orders than this wait in a lane, recovery pauses; while more due waits or admitted
// runs than this wait there, the clock posts no others.
constexpr std::size_t kBacklogMax = 4096;
constexpr std::size_t kTimersPerPoll = 1024;
constexpr std::chrono::seconds kStoreLookEvery{5};
constexpr std::chrono::milliseconds kHoldBack{5};
constexpr std::chrono::seconds kLeaseTtl{60};
constexpr std::chrono::minutes kBehindStoreMax{1};

std::size_t LaneCount(const EngineOptions& options) {
  if (options.lanes > 0) return options.lanes;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
}

Lane::Options LaneOptions(const EngineOptions& options, std::size_t lanes) {
  return {{options.cancel_grace, options.drain_timeout, options.engine_attempts_max},
          options.write_budget,
          options.checkpoint_events,
          options.memory_bytes_max / lanes};
}

bool IsSet(const AdmissionLimit& limit) {
  return limit.running_max > 0 || limit.starts_per_second > 0;
}

bool HasLimits(const AdmissionPolicy& policy) {
  return IsSet(policy.engine) || IsSet(policy.tenant) || IsSet(policy.project) ||
         std::ranges::any_of(policy.tenants,
                             [](const auto& tenant) { return IsSet(tenant.second); });
}

// No tenant takes all runs that may be executed at once, unless the operator gave it more.
AdmissionPolicy WithShares(AdmissionPolicy policy, std::uint32_t tenant_percent) {
  if (policy.engine.running_max == 0 || tenant_percent >= 100) return policy;
  const SharedLimit limit{policy.engine.running_max, tenant_percent};
  const auto share = static_cast<std::uint32_t>(limit.tenant_max());
  if (policy.tenant.running_max == 0) policy.tenant.running_max = share;
  for (auto& [name, tenant] : policy.tenants) {
    if (tenant.running_max == 0) tenant.running_max = share;
  }
  return policy;
}

}  // namespace

LocalEngine::LocalEngine(Parts parts, EngineOptions options)
    : options_(std::move(options)),
      clock_(parts.clock),
      random_(parts.random),
      threads_(parts.threads),
      watch_(parts.watch),
      log_(std::move(parts.log)),
      library_(log_->store(), log_->committer(),
               {parts.tools->Kinds(), {}, parts.tools->HasOthers()}, std::move(parts.formats),
               threads_),
      logged_({log_->store(), log_->authority(), clock_, random_}),
      timers_(log_->store()),
      slots_(options_.admission.ageing, parts.tenant_share,
             [this](const RunId& run_id, const std::string& activity_id) {
               Post(run_id, {run_id, SlotOrder{activity_id}});
             }),
      admission_(WithShares(options_.admission, parts.tenant_share)),
      limited_(HasLimits(options_.admission)),
      fetcher_(std::move(parts.plans)),
      tools_(std::move(parts.tools)) {
  for (const std::string& kind : tools_->Kinds()) {
    if (const std::uint32_t slots = tools_->Slots(kind)) slots_.SetCapacity(kind, slots);
  }
  slots_.SetCapacity(std::string(SlotBoard::kShared), options_.tasks_max);
  const std::size_t count = threads_ ? LaneCount(options_) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    lanes_.push_back(
        std::make_unique<Lane>(Lane::World{log_->store(), log_->authority(), clock_, random_,
                                           library_, slots_, *tools_, *this, counters_},
                               LaneOptions(options_, count)));
    if (options_.passive) lanes_.back()->AllowStarts(false);
  }
  if (!threads_) {
    if (!options_.passive) (void)Recover();
    recovered_ = true;
    return;
  }
  recovered_ = options_.passive;
  try {
    for (auto& lane : lanes_) {
      lane_threads_.emplace_back([this, &lane] { RunLane(*lane); });
    }
    if (!options_.passive) clock_thread_ = std::thread([this] { WatchClock(); });
  } catch (const std::system_error&) {  // no thread could be made
    Stop();
    throw;
  }
}

LocalEngine::~LocalEngine() {
  Stop();
  tools_.reset();
}

void LocalEngine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ended_.notify_all();
  clock_wake_.notify_all();
  if (clock_thread_.joinable()) clock_thread_.join();
  for (auto& lane : lanes_) lane->Stop();
  for (std::thread& thread : lane_threads_) thread.join();
  lane_threads_.clear();
  for (auto& lane : lanes_) lane->Close();
  tools_->Flush();
}

Lane& LocalEngine::LaneOf(const RunId& run_id) {
  return *lanes_[std::hash<RunId>{}(run_id) / AppendAuthority::kShards % lanes_.size()];
}

void LocalEngine::Post(RunId run_id, LaneOrder order) { LaneOf(run_id).Post(std::move(order)); }

bool LocalEngine::stopped() const {
  return std::ranges::any_of(lanes_, [](const auto& lane) { return lane->stopped(); });
}

// ---- threads

void LocalEngine::RunLane(Lane& lane) {
  while (true) {
    while (lane.Turn()) {
    }
    if (!lane.Wait(lane.NextDeadline())) return;
  }
}

void LocalEngine::WatchClock() {
  const Status recovered = Recover();
  if (!recovered) Raise({"RECOVERY_FAILED", "P1", {}, ToString(recovered.error()), {}, true});
  {
    const std::lock_guard lock(mutex_);
    recovered_ = true;
  }
  ended_.notify_all();
  while (true) {
    LookAtStore();
    Timestamp next = PollClock();
    std::unique_lock lock(mutex_);
    if (stop_) return;
    const auto woken = [this] { return stop_ || look_again_; };
    // Wake regularly even if nothing is due, so that leaps of the clock are noticed in time.
    std::chrono::microseconds left = WatchedClock::kLookEvery;
    if (next != Timestamp{}) left = std::min(left, next - clock_.Now());
    if (left > std::chrono::microseconds::zero()) clock_wake_.wait_for(lock, left, woken);
    look_again_ = false;
    if (stop_) return;
  }
}

void LocalEngine::WakeClock() {
  {
    const std::lock_guard lock(mutex_);
    look_again_ = true;
  }
  clock_wake_.notify_one();
}

// Fires due timers and admits queued runs. Returns when to call it again; unset: not by time.
Timestamp LocalEngine::PollClock() {
  const Timestamp now = clock_.Now();
  ReportLeaps(now);
  // Only its own orders hold the clock back: anybody can keep a lane busy with others.
  const auto most = [this](std::size_t (Lane::*count)() const) {
    std::size_t orders = 0;
    for (const auto& lane : lanes_) orders = std::max(orders, ((*lane).*count)());
    return orders;
  };
  Timestamp again = most(&Lane::waits) > kBacklogMax ? now + kHoldBack : PollTimers(now);
  if (most(&Lane::admits) > kBacklogMax) return now + kHoldBack;
  AdmitNext();
  const std::lock_guard lock(admission_mutex_);
  const auto wake = admission_.NextWake(now);
  if (wake && (again == Timestamp{} || *wake < again)) again = *wake;
  return again;
}

Timestamp LocalEngine::PollTimers(Timestamp now) {
  const auto next =
      timers_.Poll(now, kTimersPerPoll,
                   [this, now](Timestamp due_at, const RunId& run_id, const std::string& wait_id) {
                     EVERSTEP_ASSERT(due_at <= now);
                     const auto late = static_cast<std::uint64_t>((now - due_at).count());
                     timers_fired_.fetch_add(1);
                     lateness_us_sum_.fetch_add(late);
                     if (late > lateness_us_max_) lateness_us_max_ = late;  // sole writer
                     Post(run_id, {run_id, WaitOrder{wait_id}});
                   });
  Timestamp again{};
  if (next && *next != Timestamp::max()) again = *next;
  if (!next) again = now + std::chrono::seconds(1);
  return again;
}

void LocalEngine::ReportLeaps(Timestamp now) {
  for (const ClockLeap& leap : watch_ ? watch_->TakeLeaps() : std::vector<ClockLeap>()) {
    const bool harmless = leap.kind == ClockLeap::Kind::kReturned;
    Raise({"CLOCK_JUMPED", harmless ? "P3" : "P2", {}, ToString(leap)});
  }
  const Timestamp newest = log_->store().LastPersistedAt();
  const bool behind = newest - now > kBehindStoreMax;
  if (behind && !behind_store_) {
    Raise({"CLOCK_BEHIND_STORE",
           "P2",
           {},
           "the clock says " + FormatTimestamp(now) + ", but events were written at " +
               FormatTimestamp(newest) + ": the clock was ahead then, or is behind now"});
  }
  behind_store_ = behind;
}

// Raises an alert when the store becomes unhealthy or its fault changes.
void LocalEngine::LookAtStore() {
  const Timestamp now = clock_.Now();
  const bool recent = now >= store_looked_at_ && now - store_looked_at_ < kStoreLookEvery;
  if (recent) return;
  store_looked_at_ = now;
  const Status health = log_->store().Health();
  std::optional<ErrorCode> fault;
  if (!health) fault = health.error().code;
  if (fault && fault != store_fault_) {
    Raise({std::string(Name(*fault)), "P1", {}, health.error().message, {}, true});
  }
  store_fault_ = fault;
}

Timestamp LocalEngine::Step() {
  EVERSTEP_ASSERT(!threads_);
  Timestamp next{};
  bool busy = true;
  while (busy) {
    next = options_.passive ? Timestamp{} : PollClock();
    busy = false;
    for (auto& lane : lanes_) {
      while (lane->Turn()) busy = true;
    }
  }
  for (auto& lane : lanes_) {
    const Timestamp deadline = lane->NextDeadline();
    if (deadline != Timestamp{} && (next == Timestamp{} || deadline < next)) next = deadline;
  }
  return next;
}

// Posts a RecoverOrder for every run that has not ended, so that tasks in flight are redelivered.
Status LocalEngine::Recover() {
  return log_->store().VisitActive([this](const StoredRun& run) -> Status {
    Lane& lane = LaneOf(run.run_id);
    while (threads_ && lane.Backlog() > kBacklogMax) {
      std::unique_lock lock(mutex_);
      if (stop_) return Error{ErrorCode::kEngineStopped, "the engine is stopping", {}};
      clock_wake_.wait_for(lock, kHoldBack, [this] { return stop_; });
    }
    lane.Post({run.run_id, RecoverOrder{true}});
    return Ok();
  });
}

// ---- admission

// Runs that no limit applies to are not counted and take no memory in admission.
bool LocalEngine::IsCounted(const RunOrigin& origin) const {
  return limited_ || options_.passive || !origin.concurrency_key.empty() ||
         origin.start_at != Timestamp{};
}

LocalEngine::Admitted LocalEngine::Admit(const RunId& run_id, const RunOrigin& origin,
                                         bool must_keep) {
  if (!IsCounted(origin)) return {.start = true};
  const AdmissionRun run{
      run_id,          origin.scope.tenant_id, origin.scope.project_id, origin.concurrency_key,
      origin.priority, origin.start_at};
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(admission_mutex_);
  Admitted admitted;
  if (admission_.Knows(run_id)) (void)admission_.Ended(run_id);  // left by a failed start
  const AdmissionDecision decision = admission_.Request(run, now);
  switch (decision.verdict) {
    case AdmissionDecision::Verdict::kStart:
      admitted.start = !options_.passive;
      admitted.epoch = decision.epoch.value();
      break;
    case AdmissionDecision::Verdict::kQueue:
      admitted.position = decision.position;
      break;
    case AdmissionDecision::Verdict::kDelay:
      admitted.start_at = decision.start_at;
      break;
    case AdmissionDecision::Verdict::kReject: {
      if (must_keep) {
        admission_.Keep(run, now);
        break;
      }
      const auto after = std::chrono::ceil<std::chrono::seconds>(decision.retry_after);
      admitted.rejected =
          Error{ErrorCode::kAdmissionRejected,
                decision.block.message + "; try again in " + std::to_string(after.count()) + " s",
                {},
                std::chrono::ceil<std::chrono::milliseconds>(decision.retry_after)};
      break;
    }
  }
  EVERSTEP_ASSERT(!admitted.rejected || (!admitted.start && !must_keep));
  if (!admitted.start && !admitted.rejected) admitted.queued_at = admission_.QueuedAt(run_id);
  return admitted;
}

void LocalEngine::Started(const RunId& run_id, std::uint64_t epoch) {
  EVERSTEP_ASSERT(epoch > 0);
  const std::lock_guard lock(admission_mutex_);
  (void)admission_.Confirm(run_id, LeaseEpoch(epoch));
}

void LocalEngine::NotStarted(const RunId& run_id, std::uint64_t epoch, bool forget) {
  const std::lock_guard lock(admission_mutex_);
  ++start_failures_;
  if (epoch == 0) {
    (void)admission_.Forget(run_id);
    return;
  }
  const auto failure =
      forget ? Admission::StartFailure::kPermanent : Admission::StartFailure::kTransient;
  (void)admission_.Release(run_id, LeaseEpoch(epoch), failure, clock_.Now());
}

void LocalEngine::AdmitNext() {
  if (options_.passive) return;
  std::vector<RunLease> leases;
  {
    const std::lock_guard lock(admission_mutex_);
    if (admission_.pending() == 0 && admission_.leased() == 0) return;
    const Timestamp now = clock_.Now();
    (void)admission_.ExpireLeases(now, kLeaseTtl);
    leases = admission_.Next(now, kTimersPerPoll);
  }
  for (const RunLease& lease : leases) {
    Post(lease.run_id, {lease.run_id, AdmitOrder{lease.epoch.value()}});
  }
}

bool LocalEngine::Restored(const Execution& run) {
  const RunOrigin& origin = run.progress().origin;
  const bool child = !origin.parent.value().empty();
  const bool unapproved =
      run.status() == RunStatus::kPending && run.compiled()->requires_approval();
  if (child && IsOrphan(run)) {
    CancelChild(run.run_id(), run.scope().tenant_id);
    return run.progress().is_ending();
  }
  if (child || unapproved || IsTerminal(run.status())) return true;
  const bool waits = run.status() == RunStatus::kPending || run.status() == RunStatus::kApproved;
  if (!waits && !IsCounted(origin)) return true;
  Timestamp start_at{};
  const auto start = run.activities().waits().find("start");
  if (start != run.activities().waits().end()) start_at = start->second.due_at;
  {
    const std::lock_guard lock(admission_mutex_);
    (void)admission_.Restore(
        {run.run_id(), run.scope().tenant_id, run.scope().project_id, origin.concurrency_key,
         origin.priority, start_at},
        waits ? Admission::RestoredAs::kQueued : Admission::RestoredAs::kRunning,
        origin.queued_at == Timestamp{} ? run.progress().created_at : origin.queued_at);
  }
  if (waits) WakeClock();
  return true;
}

void LocalEngine::Ended(const Execution& run) {
  EVERSTEP_ASSERT(IsTerminal(run.status()));
  const RunOrigin& origin = run.progress().origin;
  if (origin.parent.value().empty()) {
    bool others = false;
    {
      const std::lock_guard lock(admission_mutex_);
      (void)admission_.Ended(run.run_id());
      others = admission_.pending() > 0;
    }
    if (others) AdmitNext();
  } else {
    const RunProgress& progress = run.progress();
    Post(origin.parent,
         {origin.parent, ChildEndOrder{{run.run_id(), progress.status, progress.result,
                                        progress.error_code, progress.error_message}}});
  }
  if (options_.on_end) options_.on_end(run.run_id().value(), std::string(Name(run.status())));
  if (const EndListener* listener = end_listener_.load()) (*listener)(run);
  if (threads_) {
    { const std::lock_guard lock(mutex_); }
    ended_.notify_all();
  }
}

void LocalEngine::Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id) {
  if (timers_.Armed(due_at, run_id, wait_id) && threads_) WakeClock();
}

void LocalEngine::Raise(const Alert& alert) {
  if (options_.on_alert) options_.on_alert(alert);
}

// ---- calls that wait for an answer

Result<StartedRun> LocalEngine::Start(const StartRequest& request) {
  auto prepared = Prepare(request);
  if (!prepared) return std::move(prepared).error();
  if (threads_) {
    // The runs of the previous process are recovered first.
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return recovered_ || stop_; });
    if (stop_) return Error{ErrorCode::kEngineStopped, "the engine is stopping", {}};
  }
  const RunId run_id = prepared->run_id;
  return Ask<StartedRun>(run_id, [&](std::function<void(Result<StartedRun>)> answer) {
    prepared->order.answer = std::move(answer);
    return LaneOrder{run_id, std::move(prepared->order)};
  });
}

Result<SignalDecision> LocalEngine::Signal(const SignalRequest& request) {
  auto verdict = JudgeSignal(request, options_.signals_to_approve, clock_.Now(), random_);
  if (!verdict) return std::move(verdict).error();
  const RunId run_id(request.run_id);
  if (const auto elsewhere = FindElsewhere(run_id)) {
    return elsewhere->backend.Signal(request, *verdict);
  }
  if (request.type == "RETRY_RUN") return RetryRun(request, *verdict);
  return Ask<SignalDecision>(run_id, [&](std::function<void(Result<SignalDecision>)> answer) {
    return LaneOrder{run_id, SignalCall{request, std::move(*verdict), std::move(answer)}};
  });
}

Status LocalEngine::Approve(std::string_view run_id, const Actor& actor, std::string_view reason) {
  const RunId id{std::string(run_id)};
  return Ask<std::monostate>(id, [&](std::function<void(Status)> answer) {
    return LaneOrder{id, ApproveOrder{actor, std::string(reason), std::move(answer)}};
  });
}

Result<std::string> LocalEngine::Deliver(const HookDelivery& delivery) {
  if (!delivery.payload.empty()) {
    const auto payload = ValueFromJson(delivery.payload);
    if (!payload) return payload.error();
  }
  if (delivery.kind == HookDelivery::Kind::kFailure && !IsIdentifier(delivery.error_code)) {
    return Error{ErrorCode::kInvalidArgument,
                 "the error code \"" + delivery.error_code +
                     "\" of a failure must have 1 to 128 of "
                     "A-Z a-z 0-9 . _ : - and begin with a letter or digit",
                 {}};
  }
  const auto holder = log_->store().Read()->FindHook(delivery.tenant_id, delivery.token);
  if (!holder) return holder.error();
  if (!*holder) return Error{ErrorCode::kHookNotFound, "no hook waits for this token", {}};
  const RunId run_id = (*holder)->run_id;
  if (const auto elsewhere = FindElsewhere(run_id)) {
    return elsewhere->backend.Deliver(elsewhere->run, **holder, delivery);
  }
  return Ask<std::string>(run_id, [&](std::function<void(Result<std::string>)> answer) {
    return LaneOrder{run_id, HookOrder{delivery, std::move(answer)}};
  });
}

bool LocalEngine::Drain(std::chrono::milliseconds wait) {
  for (auto& lane : lanes_) lane->AllowStarts(false);
  std::unique_lock lock(mutex_);
  const auto busy = [this] {
    return counters_.tasks_under_way.load() > static_cast<std::int64_t>(tools_->waiting());
  };
  const auto end = SteadyNow() + wait;
  // Reports do not notify ended_, so poll.
  while (busy()) {
    if (SteadyNow() >= end) return false;
    ended_.wait_for(lock, kHoldBack);
  }
  return true;
}

}  // namespace everstep
