// Runs: starting, reading, commands.

#include <algorithm>
#include <array>
#include <utility>

#include "base/timestamp.h"
#include "engine/run_snapshot.h"
#include "event/identifier.h"
#include "run/run_progress.h"
#include "serve/etag.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "serve/reading.h"
#include "wire/api_types.h"
#include "wire/engine_types.h"

namespace everstep {
namespace {

constexpr std::chrono::milliseconds kWaitMax{60'000};
constexpr std::string_view kStatuses[] = {"PENDING",   "APPROVED", "RUNNING",  "PAUSED",
                                          "COMPLETED", "FAILED",   "CANCELLED"};
constexpr std::string_view kTriggers[] = {"manual", "schedule", "webhook", "api"};
constexpr std::int32_t kPriorityMax = 1'000;  // as in plans

std::string EtagOf(std::uint64_t seq) { return "\"" + std::to_string(seq) + "\""; }

HttpHeaders HeadersAt(std::uint64_t seq) {
  HttpHeaders headers = WatermarkOf(seq);
  headers.emplace_back("ETag", EtagOf(seq));
  headers.emplace_back("Cache-Control", "no-cache");
  return headers;
}

// Answers with the watermark of the read; 304 if the client has that state already.
void AnswerAt(ApiCall& call, std::uint64_t seq, std::string body) {
  HttpHeaders headers = HeadersAt(seq);
  const std::string etag = EtagOf(seq);
  if (NoneMatchHas(call.request().Header("if-none-match"), etag)) {
    return call.Reply({304, std::move(headers), {}});
  }
  call.Json(200, std::move(body), std::move(headers));
}

// Calls `answer` with the run when it has ended or `wait` is over.
enum class MayHaveEnded : bool { kNo, kYes };
void WaitForEnd(Api& api, const CallPtr& call, const std::string& run_id,
                std::chrono::milliseconds wait, MayHaveEnded before,
                std::function<void(ApiCall&, const RunView&)> answer) {
  call->ReleaseReserve();
  api.end_waiters().Add(run_id, wait,
                        [&api, call, run_id, answer = std::move(answer)](const RunView* ended) {
                          if (ended != nullptr) return answer(*call, *ended);
                          api.RunOnPool(call->party(), [&api, call, run_id, answer] {
                            // A call that started the run reports that, however little memory is
                            // left.
                            const bool reads = call->request().method == "GET";
                            if (call->is_abandoned() || (reads && !api.ReserveAnswer(*call)))
                              return;
                            const auto view = api.engine().View(run_id);
                            view ? answer(*call, *view) : call->Fail(view.error());
                          });
                        });
  if (before == MayHaveEnded::kNo) return;
  const auto run = api.engine().store().Read()->FindRun(RunId(run_id));
  if (run && *run && IsTerminal((*run)->state.status)) api.end_waiters().Ended(run_id);
}

// Engine errors point into a part of the body; makes the pointers relative to the whole body.
Error Within(std::string_view member, ErrorCode of_part, Error error) {
  if (error.code != of_part) return error;
  for (Fault& fault : error.faults) fault.pointer.insert(0, member);
  return error;
}

void FailToStart(ApiCall& call, const Error& error) {
  call.Fail(Within("/inputs", ErrorCode::kInvalidInput, error));
}

// With `wait`, answers with the run itself once it has ended or the time is over.
void AnswerStarted(Api& api, const CallPtr& call, const Result<StartedRun>& started,
                   std::optional<std::chrono::milliseconds> wait, MayHaveEnded before) {
  if (!started) return FailToStart(*call, started.error());
  const int status = started->existing ? 200 : 201;
  std::string location = "/v1/runs/" + started->run_id;
  if (!wait || wait->count() == 0) {
    return call->Json(status, ToWire(*started), {{"Location", std::move(location)}});
  }
  if (started->existing) before = MayHaveEnded::kYes;
  WaitForEnd(api, call, started->run_id, *wait, before,
             [status, location = std::move(location)](ApiCall& asked, const RunView& view) {
               HttpHeaders headers = HeadersAt(view.last_event_seq);
               headers.emplace_back("Location", location);
               asked.Json(status, ToWire(view), std::move(headers));
             });
}

// Checks members that the engine accepts unchecked.
Status CheckStart(const StartBody& body) {
  Error error{ErrorCode::kSchemaValidationFailed, "invalid start request", {}};
  const StartRequest& start = body.start;
  if (std::ranges::find(kTriggers, start.trigger_source) == std::end(kTriggers)) {
    error.faults.push_back({"/triggerSource", FaultOfWord(start.trigger_source, kTriggers)});
  }
  if (start.priority && (*start.priority < -kPriorityMax || *start.priority > kPriorityMax)) {
    error.faults.push_back({"/priority", "must be " + RangeText(-kPriorityMax, kPriorityMax)});
  }
  if (IsDerivedRunId(start.run_id)) {
    error.faults.push_back({"/runId",
                            "must not be a UUID of version 8, nor in- with 32 digits: such ids are "
                            "reserved for runs that the server names"});
  }
  if (!body.plan_version.empty() && body.plan_id.empty()) {
    error.faults.push_back(
        {"/planVersion", "selects a version of a registered plan and needs planId"});
  }
  if (error.faults.empty()) return Ok();
  return error;
}

bool NamesOnePlan(const StartBody& body) {
  const int ways = int(!body.start.plan.empty()) + int(body.start.plan_ref.has_value()) +
                   int(!body.plan_id.empty());
  return ways == 1;
}

// Returns the program of a start that needs neither disk nor network; null if it does.
std::shared_ptr<const CompiledProgram> ReadyProgram(Api& api, const ApiCall& call,
                                                    const StartBody& body) {
  if (!NamesOnePlan(body)) return nullptr;
  if (body.plan_id.empty()) return api.engine().ReadyProgram(body.start);
  const auto known = api.plans().Known(call.tenant(), body.plan_id, body.plan_version);
  if (!known) return nullptr;
  return api.engine().ReadyProgram(body.start, {std::string(kPlanFormat), known->sha256});
}

// Checks that the plan is given in exactly one way, and loads the document of a registered plan.
Status ResolvePlan(Api& api, const ApiCall& call, StartBody& body) {
  if (!NamesOnePlan(body)) {
    return Error{ErrorCode::kSchemaValidationFailed,
                 "missing or ambiguous plan",
                 {{"", "needs exactly one of plan, planRef and planId"}}};
  }
  if (body.plan_id.empty()) return Ok();
  auto registered = api.plans().Find(call.tenant(), body.plan_id, body.plan_version);
  if (!registered) return std::move(registered).error();
  auto document = api.plans().Document(*registered);
  if (!document) return std::move(document).error();
  body.start.plan = *std::move(document);
  return Ok();
}

void AnswerRun(ApiCall& call, const RunView& view) {
  AnswerAt(call, view.last_event_seq, ToWire(view));
}
void AnswerView(ApiCall& call, const Result<RunView>& view) {
  if (!view) return call.Fail(view.error());
  AnswerRun(call, *view);
}

void AnswerDecision(ApiCall& call, const Result<SignalDecision>& decision) {
  if (!decision) return call.Fail(decision.error());
  if (decision->code == Name(ErrorCode::kAuthzDenied)) {
    return call.Fail(Error{ErrorCode::kAuthzDenied, decision->reason, {}});
  }
  call.Answer(*decision);
}

// Reads a page of the events that record decisions on signals. There are two types of them, each
// read on its own: where one has more to come, the page ends.
Result<EventPage> ReadDecisions(Log& log, const std::string& run_id, std::uint64_t after,
                                std::size_t limit) {
  constexpr std::array kDecisions = {"SignalAccepted", "SignalRejected"};
  EventPage page;
  std::uint64_t complete_until = UINT64_MAX;
  for (const char* type : kDecisions) {
    EventRequest request;
    request.run_id = run_id;
    request.event_type = type;
    request.after = after;
    request.limit = limit;
    request.bytes_max = kPageBytesMax / kDecisions.size();
    auto some = log.Read(request);
    if (!some) return std::move(some).error();
    if (some->more) complete_until = std::min(complete_until, some->next_after);
    std::ranges::move(some->events, std::back_inserter(page.events));
  }
  std::ranges::sort(page.events, {}, &LogEvent::run_seq);
  const std::size_t read = page.events.size();
  std::erase_if(page.events, [&](const LogEvent& event) { return event.run_seq > complete_until; });
  page.events.resize(std::min(page.events.size(), limit));
  page.more = page.events.size() < read || complete_until != UINT64_MAX;
  page.next_after = page.events.empty() ? after : page.events.back().run_seq;
  return page;
}

}  // namespace

void StartRun(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto wait = query.Duration("wait", kWaitMax);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  auto body = call->Read<StartBody>();
  if (!body) return;
  if (const Status fits = CheckStart(*body); !fits) return call->Fail(fits.error());
  StartRequest& start = body->start;
  start.tenant_id = call->tenant();
  start.triggered_by = api.ActorOf(*call).id;
  // Don't persist a trace that the client did not ask for.
  if (!call->request().Header("traceparent").empty()) {
    start.traceparent = Traceparent(call->trace());
    start.tracestate = call->trace().state;
  }
  // Derive the run id from the Idempotency-Key, so that even a retry after a restart, when the
  // answer is no longer known, starts no second run.
  if (start.run_id.empty() && start.request_id.empty()) start.request_id = call->IdOfKey();
  if (auto program = ReadyProgram(api, *call, *body)) {
    auto prepared = api.engine().Prepare(start, std::move(program));
    if (!prepared) return FailToStart(*call, prepared.error());
    prepared->order.answer = [&api, call, wait](const Result<StartedRun>& started) {
      // The start is reported as durable before anything that follows from it, including the end.
      AnswerStarted(api, call, started, wait, MayHaveEnded::kNo);
    };
    return api.engine().Submit(*std::move(prepared));
  }
  api.RunOnPool(call->party(), [&api, call, wait, body = *std::move(body)]() mutable {
    const Status resolved = ResolvePlan(api, *call, body);
    if (!resolved) return call->Fail(resolved.error());
    if (!api.ChargeStart(*call, body.start.plan, body.start.inputs)) return;
    AnswerStarted(api, call, api.engine().Start(body.start), wait, MayHaveEnded::kYes);
  });
}

void ListRuns(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  RunFilter filter;
  filter.tenant_id = call->tenant();
  filter.project_id = query.Text("projectId").value_or("");
  filter.environment_id = query.Text("environmentId").value_or("");
  filter.plan_id = query.Text("planId").value_or("");
  filter.plan_version = query.Text("planVersion").value_or("");
  filter.run_id_prefix = query.Text("runIdPrefix").value_or("");
  filter.error_code = query.Text("errorCode").value_or("");
  if (const auto status = query.Word("status", kStatuses)) filter.status = kStatuses[*status];
  filter.created_from = query.Time("createdFrom");
  filter.created_until = query.Time("createdUntil");
  filter.updated_from = query.Time("updatedFrom");
  filter.updated_until = query.Time("updatedUntil");
  filter.cursor = query.Text("cursor").value_or("");
  filter.limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(50));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto list = api.log().Runs(filter);
  if (!list) return call->Fail(list.error());
  call->Answer(*list);
}

void CountRuns(Api& api, CallPtr call) {
  const StoreCounts stored = api.engine().store().Read()->Counts(call->tenant());
  RunCounts counts;
  counts.events = stored.events;
  counts.runs.assign(std::begin(stored.runs_by_status), std::end(stored.runs_by_status));
  call->Answer(counts);
}

void GetRun(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto wait = query.Duration("wait", kWaitMax);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string run_id = call->Parameter("runId");
  if (!api.FindRun(*call, run_id)) return;
  if (!wait || wait->count() == 0) return AnswerView(*call, api.engine().View(run_id));
  WaitForEnd(api, call, run_id, *wait, MayHaveEnded::kYes, AnswerRun);
}

void CancelRun(Api& api, CallPtr call) {
  const auto body = call->Read<ReasonBody>();
  if (!body || !api.FindRun(*call, call->Parameter("runId"))) return;
  SignalRequest signal;
  signal.run_id = call->Parameter("runId");
  signal.tenant_id = call->tenant();
  signal.type = "CANCEL";
  signal.signal_id = call->IdOfKey();
  signal.reason = body->reason;
  if (!body->reason.empty()) signal.payload = ToWire(*body);
  signal.actor = api.ActorOf(*call);
  AnswerDecision(*call, api.engine().Signal(signal));
}

void ApproveRun(Api& api, CallPtr call) {
  const auto body = call->Read<ReasonBody>();
  if (!body || !api.FindRun(*call, call->Parameter("runId"))) return;
  const std::string run_id = call->Parameter("runId");
  const Status approved = api.engine().Approve(run_id, api.ActorOf(*call), body->reason);
  if (!approved) return call->Fail(approved.error());
  AnswerView(*call, api.engine().View(run_id));
}

void GetSnapshot(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto at = query.Integer("at", 1, INT64_MAX);
  const auto consistent = query.Integer("consistentAfter", 0, INT64_MAX);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string run_id = call->Parameter("runId");
  const auto run = api.FindRun(*call, run_id);
  if (!run) return;
  // Reads see every durable event, so a missing event has not been acknowledged either.
  if (consistent && run->state.last_seq < EventSeq(static_cast<std::uint64_t>(*consistent))) {
    return call->Fail(HttpCode::kPreconditionFailed,
                      "the log ends at " + std::to_string(run->state.last_seq.value()) +
                          ", before consistentAfter");
  }
  const auto snapshot = api.log().Snapshot(
      run_id, at ? std::optional(static_cast<std::uint64_t>(*at)) : std::nullopt);
  if (!snapshot) return call->Fail(snapshot.error());
  AnswerAt(*call, snapshot->last_event_seq, ToJson(*snapshot));
}

void ListSteps(Api& api, CallPtr call) {
  const std::string run_id = call->Parameter("runId");
  if (!api.FindRun(*call, run_id)) return;
  auto view = api.engine().View(run_id);
  if (!view) return call->Fail(view.error());
  const std::uint64_t seq = view->last_event_seq;
  AnswerAt(*call, seq, ToWire(StepList{std::move(view->steps)}));
}

void GetStep(Api& api, CallPtr call) {
  const std::string run_id = call->Parameter("runId");
  if (!api.FindRun(*call, run_id)) return;
  const auto view = api.engine().View(run_id);
  if (!view) return call->Fail(view.error());
  const std::string& step_id = call->Parameter("stepId");
  const auto step = std::ranges::find(view->steps, step_id, &StepView::step_id);
  if (step == view->steps.end()) {
    return call->Fail(Error{ErrorCode::kStepNotFound, "the run has no step " + step_id, {}});
  }
  AnswerAt(*call, view->last_event_seq, ToWire(*step));
}

void ExplainRun(Api& api, CallPtr call) {
  const std::string run_id = call->Parameter("runId");
  const auto run = api.FindRun(*call, run_id);
  if (!run) return;
  const auto why = api.engine().Why(run_id);
  if (!why) return call->Fail(why.error());
  // The watermark was read first, so the explanation is of this event or a later one.
  call->Json(200, ToWire(*why), WatermarkOf(run->state.last_seq.value()));
}

void SendSignal(Api& api, CallPtr call) {
  auto signal = call->Read<SignalRequest>();
  if (!signal || !api.FindRun(*call, call->Parameter("runId"))) return;
  signal->run_id = call->Parameter("runId");
  signal->tenant_id = call->tenant();
  if (signal->signal_id.empty()) signal->signal_id = call->IdOfKey();
  signal->actor = api.ActorOf(*call);
  const auto decision = api.engine().Signal(*signal);
  if (!decision) {
    return call->Fail(Within("/payload", ErrorCode::kSignalInvalidPayload, decision.error()));
  }
  AnswerDecision(*call, decision);
}

void ListSignals(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto after = static_cast<std::uint64_t>(query.Integer("after", 0, INT64_MAX).value_or(0));
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(1'000));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string run_id = call->Parameter("runId");
  const auto run = api.FindRun(*call, run_id);
  if (!run) return;
  const auto page = ReadDecisions(api.log(), run_id, after, limit);
  if (!page) return call->Fail(page.error());
  call->Json(200, ToWire(*page), WatermarkOf(run->state.last_seq.value()));
}

}  // namespace everstep
