// Carries out the orders that have an answer, and loads runs into memory.

#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "event/identifier.h"
#include "flow/operations_done.h"
#include "run/lane_resident.h"
#include "run/logged_backend.h"

namespace everstep {
namespace {

constexpr std::size_t kEventsPerRead = 128;
constexpr std::uint64_t kBytesPerOperation = 200;  // of the state of a run to begin with
constexpr std::uint64_t kOperationsPerEvent = 30;  // to read and fold it
constexpr std::size_t kDeliveryBytesMax = 1 << 20;

StartedRun AnswerOf(const Execution& run, const LaneHost::Admitted& admitted) {
  StartedRun started;
  started.run_id = run.run_id().value();
  started.status = Name(run.status());
  started.queue_position = admitted.position;
  if (admitted.start_at != Timestamp{}) started.start_at = admitted.start_at;
  return started;
}

}  // namespace

Error StaleReport(const TaskId& task) {
  return {ErrorCode::kStepAttemptStale,
          "delivery " + std::to_string(task.engine_attempt) + " of attempt " +
              std::to_string(task.logical_attempt) + " of step " + task.step_id +
              " is not the current delivery: it was given up, or the step ended otherwise",
          {}};
}

// ---- runs in memory

Result<Lane::Resident*> Lane::Find(const RunId& run_id) {
  const auto known = residents_.find(run_id);
  if (known != residents_.end() && !known->second->shed) return known->second.get();
  Fold& fold = folds_[run_id];
  if (fold.turn == turns_) return nullptr;
  EVERSTEP_ASSERT(fold.turn < turns_);
  fold.turn = turns_;
  auto loaded = Load(run_id, fold, kCostPerTurn);
  if (!loaded || *loaded != nullptr) ForgetFold(run_id);
  return loaded;
}

// In the next turn, after what it waits for.
void Lane::HandleLater(LaneOrder order, bool awaits_program) {
  const auto fold = folds_.find(order.run_id);
  awaits_program = awaits_program || (fold != folds_.end() && fold->second.awaits_program);
  if (awaits_program) ++awaiting_programs_;
  own_.push_back(std::move(order));
}

void Lane::ForgetFold(const RunId& run_id) {
  std::erase_if(folding_, [&run_id](const auto& of) { return of.second == run_id; });
  folds_.erase(run_id);
}

Result<Lane::Resident*> Lane::Load(const RunId& run_id) {
  ForgetFold(run_id);
  Fold fold;
  return Load(run_id, fold, UINT64_MAX);
}

Lane::Resident& Lane::Adopt(std::unique_ptr<Execution> run, Checkpoint checkpoint) {
  const RunId run_id = run->run_id();
  if (const auto known = residents_.find(run_id); known != residents_.end()) {
    Resident& resident = *known->second;
    EVERSTEP_ASSERT(resident.shed);
    run->TakeOverShed(*resident.run);
    resident.run = std::move(run);
    resident.checkpoint = checkpoint;
    resident.durable = resident.run->progress().last_seq;
    Use(resident);
    return resident;
  }
  auto resident = std::make_unique<Resident>(*this, std::move(run));
  resident->checkpoint = checkpoint;
  resident->durable = resident->run->progress().last_seq;
  resident->ended = IsTerminal(resident->run->status());
  world_.counters.runs_in_memory.fetch_add(1);
  Use(*resident);
  return *residents_.emplace(run_id, std::move(resident)).first->second;
}

Result<Lane::Resident*> Lane::Load(const RunId& run_id, Fold& fold, std::uint64_t cost_max) {
  const std::uint64_t before = OperationsDone();
  const auto reader = world_.store.Read();
  auto stored = reader->FindRun(run_id);
  if (!stored) return std::move(stored).error();
  if (!*stored) {
    return Error{ErrorCode::kRunNotFound, "there is no run " + run_id.value(), {}};
  }
  if (!(*stored)->quarantine.empty()) {
    return Error{ErrorCode::kRunQuarantined,
                 "run " + run_id.value() + " is quarantined: " + (*stored)->quarantine,
                 {}};
  }
  const auto is_foreign = [&run_id] {
    return Error{
        ErrorCode::kPlanUnavailable,
        "run " + run_id.value() + " is not executed by this engine: another engine writes its log",
        {}};
  };
  if (LoggedBackend::Has((*stored)->state)) return is_foreign();
  std::unique_ptr<Execution>& run = fold.run;
  EventQuery query{.after = fold.after, .limit = kEventsPerRead};
  while (query.after < (*stored)->state.last_seq) {
    if (OperationsDone() - before >= cost_max) return nullptr;
    auto events = reader->ReadEvents(**stored, query);
    if (!events) return std::move(events).error();
    if (events->empty()) break;
    if (!run) {
      const ProgramRef program = ProgramOf(events->front());
      if (program.format.empty()) return is_foreign();
      // One after the other: a run that is folded in part takes memory too.
      const std::string& tenant = (*stored)->state.scope.tenant_id;
      const bool in_parts = cost_max != UINT64_MAX;
      if (in_parts) {
        const RunId& first = folding_.try_emplace(tenant, run_id).first->second;
        if (first != run_id) {
          fold.awaits_program = folds_.at(first).awaits_program;
          return nullptr;
        }
      }
      auto compiled = in_parts ? world_.programs.FindSoon(program) : world_.programs.Find(program);
      if (!compiled) return std::move(compiled).error();
      fold.awaits_program = *compiled == nullptr;
      if (fold.awaits_program) return nullptr;
      AddOperations((*compiled)->bytes_per_run() / kBytesPerOperation);
      run = std::make_unique<Execution>(run_id, *compiled, world_.tools, options_.run);
      run->SetScope((*stored)->state.scope);
      const Status loaded = LoadCheckpoint(*reader, **stored, fold);
      if (!loaded) return loaded.error();
      if (fold.checkpoint.seq != EventSeq()) {
        fold.after = query.after = fold.checkpoint.seq;
        continue;
      }
    }
    for (const Event& event : *events) {
      AddOperations(kOperationsPerEvent + OperationsOfJson(event.payload.size()));
      run->Apply(event);
    }
    fold.after = query.after = events->back().seq;
  }
  if (!run) return Error{ErrorCode::kStoreCorrupt, "run " + run_id.value() + " has no events", {}};
  EVERSTEP_ASSERT(run->progress().last_seq == query.after);
  return &Adopt(std::move(run), fold.checkpoint);
}

// ---- checkpoints

// Brings the run to its last checkpoint. One that cannot be read is as good as none: the log says
// everything.
Status Lane::LoadCheckpoint(StateReader& reader, const StoredRun& stored, Fold& fold) {
  if (options_.checkpoint_events == 0) return Ok();
  const auto text = reader.FindDocument(CheckpointKey(stored.state.scope.tenant_id, stored.run_id));
  if (!text) return text.error();
  if (!*text) return Ok();
  AddOperations(OperationsOfJson((*text)->size()));
  const auto compiled = fold.run->compiled();
  if (fold.run->Decode(**text) && fold.run->progress().last_seq <= stored.state.last_seq) {
    fold.checkpoint = {fold.run->progress().last_seq, (*text)->size()};
    return Ok();
  }
  fold.run = std::make_unique<Execution>(stored.run_id, compiled, world_.tools, options_.run);
  fold.run->SetScope(stored.state.scope);
  return Ok();
}

// What the store is to keep of the run with the events of this turn; null: no change. A checkpoint
// costs no more than a share of the log that it stands for, however large the run's state is.
// `bytes` counts those of a turn, which are bounded together: the others follow in later turns.
std::shared_ptr<const std::string> Lane::CheckpointOf(Resident& resident, std::size_t& bytes) {
  constexpr std::size_t kBytesPerEvent = 64;
  constexpr std::size_t kBytesMax = 4 << 20;  // a larger one would hold up the lane and the disk
  const Execution& run = *resident.run;
  Checkpoint& last = resident.checkpoint;
  if (IsTerminal(run.status())) {
    if (last.seq == EventSeq()) return nullptr;
    return std::make_shared<const std::string>();
  }
  const bool unsure = resident.token_is_unsure || !resident.turn->effects.reserved.empty();
  if (options_.checkpoint_events == 0 || unsure || last.bytes > kBytesMax) return nullptr;
  EVERSTEP_ASSERT(run.progress().last_seq >= last.seq);
  const std::uint64_t events = run.progress().last_seq.value() - last.seq.value();
  if (events < std::max<std::uint64_t>(options_.checkpoint_events, last.bytes / kBytesPerEvent)) {
    return nullptr;
  }
  if (bytes > kBytesMax) return nullptr;
  auto text = std::make_shared<const std::string>(run.Encode(kBytesMax));
  AddOperations(OperationsOfJson(text->size()));
  bytes += text->size();
  last = {run.progress().last_seq, text->size()};
  return text->size() > kBytesMax ? nullptr : text;
}

// ---- starting

// The run that an earlier version started for the same request. Ignores runs of other scopes:
// anybody could have chosen the id.
std::optional<StartedRun> Lane::FindFormer(const StartOrder& order) {
  if (order.former_id.value().empty()) return std::nullopt;
  const auto stored = world_.store.Read()->FindRun(order.former_id);
  if (!stored || !*stored || !((*stored)->state.scope == order.origin.scope)) return std::nullopt;
  StartedRun started;
  started.run_id = order.former_id.value();
  started.status = Name((*stored)->state.status);
  started.existing = true;
  return started;
}

// Returns false if the order was refused, or waits until its program is compiled.
bool Lane::GetProgram(LaneOrder& order) {
  auto& what = std::get<StartOrder>(order.what);
  if (what.program != nullptr) return true;
  auto program = world_.programs.FindSoon(what.program_ref);
  if (!program) {
    Refuse(order, program.error());
    return false;
  }
  if (*program == nullptr) {
    HandleLater(std::move(order), true);
    return false;
  }
  what.origin.scope.plan_id = (*program)->id();
  what.origin.scope.plan_version = (*program)->version();
  what.program = *std::move(program);
  return true;
}

void Lane::Start(LaneOrder& order) {
  auto& what = std::get<StartOrder>(order.what);
  auto existing = Find(order.run_id);
  if (existing && *existing == nullptr) return HandleLater(std::move(order));
  if (existing && !((*existing)->run->scope() == what.origin.scope)) {
    // The same message whoever owns the id, so that nothing is revealed about other tenants.
    Refuse(order,
           {ErrorCode::kRunAlreadyExists, "the run id " + order.run_id.value() + " is taken", {}});
    return Retire(**existing);
  }
  if (existing && what.signal) {
    const SignalOrder& signal = what.signal->order;
    const auto known =
        (*existing)->run->progress().FindSignal(signal.signal_id, signal.type, signal.payload);
    if (!known) {
      Refuse(order, known.error());
      return Retire(**existing);
    }
  }
  if (existing) {
    StartedRun started = AnswerOf(*(*existing)->run, {});
    started.existing = true;
    if ((*existing)->touched) {
      (*existing)->answers.push_back([answer = what.answer, started](const Error*) {
        if (answer) answer(started);
      });
      (*existing)->followers.push_back(std::move(order));
      return;
    }
    if (what.answer) what.answer(std::move(started));
    return Retire(**existing);
  }
  if (existing.error().code != ErrorCode::kRunNotFound) return Refuse(order, existing.error());
  if (auto former = FindFormer(what)) {
    if (what.answer) what.answer(*std::move(former));
    return;
  }
  if (!what.inputs_checked) {
    // Checked here, not where the parent's turn ends, so that the tenant is charged for it.
    const auto inputs = what.program->CheckInputs(what.origin.inputs);
    if (!inputs) return Refuse(order, inputs.error());
    what.origin.inputs = ToJson(*inputs);
    what.inputs_checked = true;
  }
  const bool approval = what.program->requires_approval();
  const bool child = !what.origin.parent.value().empty();
  LaneHost::Admitted admitted;
  admitted.start = child && !approval;
  if (!approval && !child) {
    admitted = world_.host.Admit(order.run_id, what.origin, false);
    what.origin.start_at = admitted.start_at;
  }
  if (admitted.rejected) return Refuse(order, *admitted.rejected);
  what.origin.queue_position = admitted.position;
  what.origin.queued_at = admitted.queued_at;

  auto run = std::make_unique<Execution>(order.run_id, what.program, world_.tools, options_.run);
  run->SetScope(what.origin.scope);
  Resident& resident = Adopt(std::move(run), {});
  resident.orders.push_back(std::move(order));
  auto& kept = std::get<StartOrder>(resident.orders.back().what);
  Execution::Turn& turn = TurnOf(resident);
  resident.run->Queue(turn, kept.origin);
  if (kept.signal) resident.run->RecordSignal(turn, kept.signal->order, true);
  if (admitted.start) Begin(resident, admitted.epoch);
  if (!kept.answer) return;
  resident.answers.push_back([answer = kept.answer, admitted, &resident](const Error* error) {
    if (error != nullptr) return answer(*error);
    answer(AnswerOf(*resident.run, admitted));
  });
}

void Lane::Begin(Resident& resident, std::uint64_t epoch) {
  resident.run->Begin(TurnOf(resident));
  world_.counters.runs_started.fetch_add(1);
  if (epoch == 0) return;
  resident.answers.push_back([this, run_id = resident.run->run_id(), epoch](const Error* error) {
    if (error == nullptr) world_.host.Started(run_id, epoch);
  });
}

void Lane::Admit(Resident& resident, const AdmitOrder& order) {
  const RunStatus status = resident.run->status();
  const bool approval = resident.run->compiled()->requires_approval();
  const bool waits = status == (approval ? RunStatus::kApproved : RunStatus::kPending);
  if (waits && !resident.run->progress().is_ending()) {
    return Begin(resident, order.epoch);
  }
  const bool unapproved = approval && status == RunStatus::kPending;
  // The run was started or ended before, or is not approved. Only settle the lease.
  resident.answers.push_back([this, run_id = resident.run->run_id(), epoch = order.epoch, status,
                              unapproved](const Error* error) {
    if (error != nullptr) return;
    if (IsTerminal(status) || unapproved) return world_.host.NotStarted(run_id, epoch, true);
    world_.host.Started(run_id, epoch);
  });
}

void Lane::Approve(Resident& resident, ApproveOrder& order) {
  Execution& run = *resident.run;
  Execution::Turn& turn = TurnOf(resident);
  if (run.status() != RunStatus::kPending || !run.compiled()->requires_approval()) {
    resident.answers.push_back([answer = order.answer, status = run.status()](const Error*) {
      answer(Error{ErrorCode::kInvalidTransition,
                   "the run is " + std::string(Name(status)) + " and does not wait for approval",
                   {}});
    });
    return;
  }
  LaneHost::Admitted admitted;
  admitted.start = !run.progress().origin.parent.value().empty();
  if (!admitted.start) {
    RunOrigin origin = run.progress().origin;
    origin.scope = run.scope();
    admitted = world_.host.Admit(run.run_id(), origin, true);
  }
  run.Approve(turn, order.actor, order.reason, admitted.queued_at);
  if (admitted.start) Begin(resident, admitted.epoch);
  resident.answers.push_back([answer = order.answer](const Error* error) {
    answer(error == nullptr ? Ok() : Status(*error));
  });
}

// ---- reports, hooks and signals

void Lane::Report(Resident& resident, ReportOrder& report) {
  world_.counters.steps_ended.fetch_add(1);
  const bool taken = resident.run->Report(TurnOf(resident), report.task, report.outcome);
  if (!report.answer) return;
  if (taken) {
    resident.answers.push_back([answer = report.answer](const Error* error) {
      answer(error == nullptr ? Ok() : Status(*error));
    });
  } else {
    resident.answers.push_back([answer = report.answer, task = report.task](const Error* error) {
      answer(error == nullptr ? StaleReport(task) : *error);
    });
  }
}

void Lane::Deliver(Resident& resident, HookOrder& order) {
  const HookDelivery& delivery = order.delivery;
  const bool named = delivery.delivery_id.empty() || IsIdentifier(delivery.delivery_id);
  const std::size_t bytes = delivery.payload.size() + delivery.error_message.size();
  if (!named || bytes > kDeliveryBytesMax) {
    resident.answers.push_back([answer = order.answer, named, bytes](const Error*) {
      if (!answer) return;
      answer(Error{ErrorCode::kInvalidArgument,
                   named ? "the delivery has " + std::to_string(bytes) + " bytes; the limit is " +
                               std::to_string(kDeliveryBytesMax)
                         : "the delivery id must be letters, digits and . _ : - (at most 128)",
                   {}});
    });
    (void)TurnOf(resident);
    return;
  }
  const Status taken = resident.run->HookReceived(TurnOf(resident), delivery);
  resident.answers.push_back(
      [answer = order.answer, taken, run_id = resident.run->run_id()](const Error* error) {
        if (!answer) return;
        if (error != nullptr) return answer(*error);
        if (!taken) return answer(taken.error());
        answer(run_id.value());
      });
}

void Lane::Signal(Resident& resident, SignalCall& call) {
  Execution& run = *resident.run;
  Execution::Turn& turn = TurnOf(resident);
  const auto answer_with = [&](Result<SignalDecision> decision) {
    resident.answers.push_back(
        [answer = call.answer, decision = std::move(decision)](const Error* error) {
          if (!answer) return;
          if (error != nullptr) return answer(*error);
          answer(decision);
        });
  };
  const SignalOrder& order = call.verdict.order;
  if (run.scope().tenant_id != call.request.tenant_id) {
    // Answer as if the run did not exist, so that other tenants learn nothing.
    return answer_with(
        Error{ErrorCode::kRunNotFound, "there is no run " + run.run_id().value(), {}});
  }
  const auto known = run.progress().FindSignal(order.signal_id, order.type, order.payload);
  if (!known) return answer_with(known.error());
  if (*known != nullptr) return answer_with(RepeatOf(order.signal_id, **known));
  const bool terminal = IsTerminal(run.status());
  SignalDecision decision{
      order.signal_id, call.verdict.decision, call.verdict.code, call.verdict.reason, false, {}, 0};
  if (call.verdict.allowed) {
    const auto refusal = run.Signal(turn, order);
    if (refusal) {
      if (terminal) return answer_with(Error{refusal->code, refusal->message, {}});
      SignalOrder rejected = order;
      rejected.record = RejectedRecord(call.request, order, *refusal, now_, world_.random);
      run.RecordSignal(turn, rejected, false);
      decision.decision = "REJECTED";
      decision.code = Name(refusal->code);
      decision.reason = refusal->message;
    } else if (call.verdict.destructive) {
      turn.effects.alerts.push_back(
          {"DESTRUCTIVE_SIGNAL", "P1", run.run_id().value(), order.type + ": " + order.reason});
    }
  } else if (terminal) {
    return answer_with(
        Error{ErrorCode::kRunTerminal, "the run is " + std::string(Name(run.status())), {}});
  } else {
    run.RecordSignal(turn, order, false);
  }
  const auto recorded = run.progress().signals.find(order.signal_id);
  if (recorded != run.progress().signals.end()) decision.run_seq = recorded->second.seq.value();
  answer_with(std::move(decision));
}

void Lane::CheckToken(const Execution& run, const std::string& token, const std::string& hook_id) {
  const auto holder = world_.store.Read()->FindHook(run.scope().tenant_id, token);
  const bool ours = holder && *holder && **holder == HookHolder{run.run_id(), hook_id};
  if (ours) return;
  residents_.at(run.run_id())->token_is_unsure = true;
  own_.push_back({run.run_id(), TokenOrder{hook_id}});
}

}  // namespace everstep
