// Checks start requests and gets their plans; child runs; RETRY_RUN.

#include <algorithm>
#include <future>
#include <utility>

#include "base/assert.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "event/identifier.h"
#include "flow/plan_ref.h"
#include "run/derived_run_id.h"
#include "run/local_engine.h"

namespace everstep {
namespace {

constexpr int kChildDepthMax = 8;

Status CheckNames(const StartRequest& request) {
  Error error{ErrorCode::kInvalidArgument, "the request contains invalid identifiers", {}};
  const auto check = [&error](const char* pointer, const std::string& value) {
    if (IsIdentifier(value)) return;
    error.faults.push_back(
        {pointer, "must begin with a letter or digit and have 1 to 128 of A-Z a-z 0-9 . _ : -"});
  };
  if (!request.run_id.empty()) check("/runId", request.run_id);
  if (!request.request_id.empty()) check("/requestId", request.request_id);
  check("/tenantId", request.tenant_id);
  check("/projectId", request.project_id);
  check("/environmentId", request.environment_id);
  if (!request.run_id.empty() && !request.request_id.empty()) {
    error.faults.push_back(
        {"/runId", "cannot be combined with requestId, which determines the run id"});
  }
  if (error.faults.empty()) return Ok();
  return error;
}

}  // namespace

Result<std::shared_ptr<const CompiledProgram>> LocalEngine::ProgramFor(
    const StartRequest& request) {
  if (!request.plan_ref) return library_.Add(request.format, request.plan);
  const PlanRef& ref = *request.plan_ref;
  if (!fetcher_) {
    return Error{ErrorCode::kPlanUriNotAllowed, "this engine does not fetch plans by URI", {}};
  }
  const auto document = fetcher_->Fetch(ref.uri, request.plan_uri);
  if (!document) return document.error();
  const Status whole = CheckPlanDigest(ref, *document);
  if (!whole) {
    Raise({"PLAN_INTEGRITY_VALIDATION_FAILED", "P1", request.run_id, whole.error().message,
           request.tenant_id});
    return whole.error();
  }
  auto program = library_.Add(request.format, *document);
  if (!program) return program;
  const Status named =
      CheckPlanNames(ref, (*program)->id(), (*program)->version(), (*program)->schema_version());
  if (!named) return named.error();
  return program;
}

// Fetches and stores the programs of child runs, recursively, before the run begins. From then on
// the run does not depend on their sources.
Status LocalEngine::AddChildren(const CompiledProgram& program, const std::string& base, int depth,
                                std::map<std::string, std::string>& children) {
  for (const CompiledProgram::Child& child : program.children()) {
    if (depth >= kChildDepthMax) {
      return Error{
          ErrorCode::kInvalidPlan,
          "child plans are nested more than " + std::to_string(kChildDepthMax) + " levels deep",
          {}};
    }
    if (children.contains(child.name)) continue;
    Result<std::string> document = child.document;
    if (!child.reference.empty()) {
      if (!fetcher_) {
        return Error{ErrorCode::kPlanUriNotAllowed, "this engine does not fetch plans by URI", {}};
      }
      document = fetcher_->Fetch(child.reference, base);
    }
    if (!document) return document.error();
    if (!child.sha256.empty()) {
      const Status whole = CheckPlanDigest({child.reference, child.sha256, {}, {}, {}}, *document);
      if (!whole) return whole.error();
    }
    const std::string& format = child.format.empty() ? program.ref().format : child.format;
    const auto added = library_.Add(format, *document);
    if (!added) return added.error();
    children.emplace(child.name, (*added)->ref().sha256);
    const Status deeper = AddChildren(**added, base, depth + 1, children);
    if (!deeper) return deeper;
  }
  return Ok();
}

std::shared_ptr<const CompiledProgram> LocalEngine::ReadyProgram(const StartRequest& request) {
  if (request.plan_ref) return nullptr;
  return ReadyProgram(request, {request.format, ToHex(Sha256(request.plan))});
}

std::shared_ptr<const CompiledProgram> LocalEngine::ReadyProgram(const StartRequest& request,
                                                                 const ProgramRef& ref) {
  constexpr std::size_t kQuickInputBytesMax = 64 * 1024;
  if (!recovered() || request.inputs.size() > kQuickInputBytesMax) return nullptr;
  auto program = library_.Known(ref);
  const bool is_ready = program != nullptr && !program->computes_concurrency_key() &&
                        program->children().empty() && program->checks_inputs_quickly();
  return is_ready ? std::move(program) : nullptr;
}

Result<LocalEngine::Prepared> LocalEngine::Prepare(const StartRequest& request) {
  const Status named = CheckNames(request);
  if (!named) return named.error();
  auto program = ProgramFor(request);
  if (!program) return std::move(program).error();
  return Prepare(request, *std::move(program));
}

Result<LocalEngine::Prepared> LocalEngine::Prepare(const StartRequest& request,
                                                   std::shared_ptr<const CompiledProgram> program) {
  const Status named = CheckNames(request);
  if (!named) return named.error();
  const auto inputs = program->CheckInputs(request.inputs);
  if (!inputs) return inputs.error();

  Prepared prepared;
  RunOrigin& origin = prepared.order.origin;
  origin.scope = {request.tenant_id, request.project_id, request.environment_id,
                  std::string(program->id()), std::string(program->version())};
  origin.inputs = ToJson(*inputs);
  origin.uri = request.plan_ref ? request.plan_ref->uri : request.plan_uri;
  origin.request_id = request.request_id;
  origin.triggered_by = request.triggered_by;
  origin.trigger_source = request.trigger_source;
  origin.traceparent = request.traceparent;
  origin.tracestate = request.tracestate;
  origin.priority = request.priority.value_or(program->priority());
  if (request.start_at) origin.start_at = *request.start_at;
  auto key = program->ConcurrencyKeyFor(*inputs);
  if (!key) return std::move(key).error();
  origin.concurrency_key = *std::move(key);
  const Status children = AddChildren(*program, origin.uri, 0, origin.children);
  if (!children) return children.error();

  if (!request.run_id.empty()) {
    prepared.run_id = RunId(request.run_id);
  } else if (!request.request_id.empty()) {
    const RunScope& scope = origin.scope;
    const std::string text = scope.tenant_id + "|" + scope.project_id + "|" + scope.environment_id +
                             "|" + scope.plan_id + "|" + scope.plan_version + "|" +
                             request.request_id;
    prepared.run_id = DerivedRunId(text);
    prepared.order.former_id = FormerDerivedRunId(text);
  } else {
    prepared.run_id = RunId(NewUuid(random_));
  }
  prepared.order.program = std::move(program);
  EVERSTEP_ASSERT(!prepared.run_id.value().empty() && prepared.order.program != nullptr);
  return prepared;
}

// ---- children

void LocalEngine::StartChild(const ChildOrder& child) {
  EVERSTEP_ASSERT(!child.run_id.value().empty() && !child.origin.parent.value().empty());
  if (child.program.sha256.empty()) {
    return ChildMissed(
        child, {ErrorCode::kPlanUnavailable, "the program of the child run is unknown", {}});
  }
  StartOrder order;
  order.origin = child.origin;
  order.inputs_checked = false;
  order.program_ref = child.program;
  order.answer = [this, child](Result<StartedRun> started) {
    if (!started) return ChildMissed(child, started.error());
    const auto status = RunStatusNamed(started->status);
    // The child ended before, so its parent may have missed it: report again.
    if (started->existing && status && IsTerminal(*status)) {
      ReportChild(child.run_id, child.origin.parent);
    }
  };
  Post(child.run_id, {child.run_id, std::move(order)});
}

void LocalEngine::ChildMissed(const ChildOrder& child, const Error& error) {
  // The engine is stopping. The next process starts the child.
  if (error.code == ErrorCode::kStoreStopped || error.code == ErrorCode::kIndeterminate ||
      error.code == ErrorCode::kEngineStopped) {
    return;
  }
  Post(child.origin.parent, {child.origin.parent, ChildEndOrder{{child.run_id,
                                                                 RunStatus::kFailed,
                                                                 {},
                                                                 std::string(Name(error.code)),
                                                                 ToString(error)}}});
}

void LocalEngine::ReportChild(const RunId& child, const RunId& parent) {
  Post(child, {child, LookOrder{[this, parent](Result<const Execution*> run) {
                 if (!run) return;
                 const RunProgress& progress = (*run)->progress();
                 Post(parent,
                      {parent, ChildEndOrder{{(*run)->run_id(), progress.status, progress.result,
                                              progress.error_code, progress.error_message}}});
               }}});
}

// Whether the parent no longer exists or has ended. A child outlives its parent only if the process
// ended before the child's cancellation was durable.
bool LocalEngine::IsOrphan(const Execution& child) {
  const auto parent = log_->store().Read()->FindRun(child.progress().origin.parent);
  return parent && (!*parent || IsTerminal((*parent)->state.status));
}

void LocalEngine::CancelChild(const RunId& child, const std::string& tenant_id) {
  SignalRequest request;
  request.run_id = child.value();
  request.tenant_id = tenant_id;
  request.signal_id = "cancel-" + child.value();
  request.type = "CANCEL";
  request.payload = R"({"reason":"its parent is ending"})";
  request.actor = {"engine", {"Operator"}, {}};
  auto verdict = JudgeSignal(request, {}, clock_.Now(), random_);
  if (!verdict) return;
  Post(child, {child, SignalCall{request, std::move(*verdict), {}}});
}

// ---- RETRY_RUN

Result<SignalDecision> LocalEngine::RetryRun(const SignalRequest& request,
                                             const SignalVerdict& verdict) {
  struct Original {
    RunStatus status{};
    RunOrigin origin;
    std::shared_ptr<const CompiledProgram> program;
    std::optional<Error> conflict{};         // the signal id belongs to another order
    std::optional<SignalDecision> before{};  // the decision, if this order is a repetition
  };
  const SignalOrder& signal = verdict.order;
  auto original = Look<Original>(request.run_id, [&signal](const Execution& run) {
    const RunProgress& progress = run.progress();
    Original seen{run.status(), progress.origin, run.compiled()};
    seen.origin.scope = run.scope();
    const auto known = progress.FindSignal(signal.signal_id, signal.type, signal.payload);
    if (!known) {
      seen.conflict = known.error();
    } else if (*known != nullptr) {
      seen.before = RepeatOf(signal.signal_id, **known);
    }
    return seen;
  });
  if (!original) return std::move(original).error();
  if (original->origin.scope.tenant_id != request.tenant_id) {
    return Error{ErrorCode::kRunNotFound, "there is no run " + request.run_id, {}};
  }
  if (original->conflict) return *original->conflict;
  const auto& before = original->before;
  if (before && before->decision != "ACCEPTED") return *before;
  SignalDecision decision{
      signal.signal_id, verdict.decision, verdict.code, verdict.reason, false, {}, 0};
  const bool ended = IsTerminal(original->status);
  if (!ended) {
    // A run that has not ended records the decision in its own log.
    const RunId run_id(request.run_id);
    auto decided =
        Ask<SignalDecision>(run_id, [&](std::function<void(Result<SignalDecision>)> answer) {
          return LaneOrder{run_id, SignalCall{request, verdict, std::move(answer)}};
        });
    if (!decided) return decided;
    decision = std::move(*decided);
  }
  if (decision.decision != "ACCEPTED") {
    if (!ended) return decision;
    // As with any order to an ended run, the log is closed, so a refusal cannot be recorded.
    return Error{ErrorCode::kRunTerminal,
                 "the run is " + std::string(Name(original->status)) + "; " + decision.reason,
                 {}};
  }
  // The log of an ended run is closed, so the decision is recorded in the new run's log.
  StartOrder order;
  order.program = original->program;
  order.origin = original->origin;
  order.origin.original = RunId(request.run_id);
  order.origin.parent = {};  // even if the original was a child, nothing waits for the new run
  order.origin.parent_step.clear();
  order.origin.request_id.clear();
  order.origin.start_at = {};
  if (ended) order.signal = verdict;
  const std::string text = "retry|" + request.run_id + "|" + signal.signal_id;
  const RunId run_id = DerivedRunId(text);
  order.former_id = FormerDerivedRunId(text);
  const auto started = Ask<StartedRun>(run_id, [&](std::function<void(Result<StartedRun>)> answer) {
    order.answer = std::move(answer);
    return LaneOrder{run_id, std::move(order)};
  });
  if (!started) return started.error();
  decision.new_run_id = started->run_id;
  decision.repeated = started->existing;
  return decision;
}

}  // namespace everstep
