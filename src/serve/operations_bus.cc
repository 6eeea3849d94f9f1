// Sinks, the outbox, dead letters, and rules for inbound events.

#include <array>
#include <utility>

#include "bus/event_bus.h"
#include "bus/inbound_rule.h"
#include "event/catalogue.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "wire/wire.h"

namespace everstep {
namespace {

struct SinkBody {
  SinkView view;
  std::uint64_t position = 0;
  bool of_server = false;  // defined in the settings; receives every tenant's events
};
template <typename F>
void Describe(F& f, SinkBody& body) {
  SinkView& view = body.view;
  f.Required("sinkId", view.definition.sink_id);
  f("ofServer", body.of_server);
  f.Required("state", view.state);
  f.Required("position", body.position);
  f.Required("lag", view.lag);
  f.Required("ageMs", view.age);
  f.Required("delivered", view.progress.delivered);
  f.Required("failures", view.progress.failures);
  f.Required("waiting", view.progress.waiting);
  f.Required("inFlight", view.progress.in_flight);
  f.Required("deadLetters", view.progress.dead_letters);
  f.Required("replaying", view.progress.replaying);
  f("lastFailure", view.progress.last_failure);
  f.Required("definition", view.definition);
}
SinkBody BodyOf(SinkView view) {
  const std::uint64_t position = view.progress.position.value();
  const bool of_server = view.tenant_id.empty();
  return {std::move(view), position, of_server};
}

struct SinkList {
  std::vector<SinkBody> sinks;
};
template <typename F>
void Describe(F& f, SinkList& list) {
  f.Required("sinks", list.sinks);
}

struct MessageBody {
  std::string id;
  std::string topic;
  std::string content_type;
  std::string body;
};
template <typename F>
void Describe(F& f, MessageBody& message) {
  f.Required("id", message.id);
  f("topic", message.topic);
  f("contentType", message.content_type);
  f.Json("body", message.body);
}

struct LetterBody {
  std::string letter_id;
  std::string run_id;
  std::uint64_t run_seq = 0;
  std::string event_type;
  Timestamp persisted_at{};
  Timestamp died_at{};
  std::uint32_t attempts = 0;
  std::string reason;
  std::string fault;
  std::vector<MessageBody> messages;
};
template <typename F>
void Describe(F& f, LetterBody& letter) {
  f.Required("letterId", letter.letter_id);
  f.Required("runId", letter.run_id);
  f.Required("runSeq", letter.run_seq);
  f("eventType", letter.event_type);
  f("persistedAt", letter.persisted_at);
  f("diedAt", letter.died_at);
  f("attempts", letter.attempts);
  f("reason", letter.reason);
  f("fault", letter.fault);
  f("messages", letter.messages);
}
LetterBody BodyOf(const DeadLetter& letter) {
  LetterBody body;
  body.letter_id = LetterId(letter);
  body.run_id = letter.run_id.value();
  body.run_seq = letter.seq.value();
  if (IsKnown(letter.type)) body.event_type = SpecOf(letter.type).name;
  body.persisted_at = letter.persisted_at;
  body.died_at = letter.died_at;
  body.attempts = letter.attempts;
  body.reason = letter.reason;
  return body;
}
LetterBody BodyOf(const LetterView& view) {
  LetterBody body = BodyOf(view.letter);
  body.fault = view.fault;
  for (const Message& message : view.messages) {
    body.messages.push_back({message.id, message.topic, message.content_type, message.body});
  }
  return body;
}

struct LetterList {
  std::vector<LetterBody> letters;
  std::string cursor;
};
template <typename F>
void Describe(F& f, LetterList& list) {
  f.Required("deadLetters", list.letters);
  f("cursor", list.cursor);
}
struct PendingList {
  std::vector<LetterBody> events;
};
template <typename F>
void Describe(F& f, PendingList& list) {
  f.Required("events", list.events);
}

struct LetterOrder {
  LetterFilter filter;
  double per_second = 0;
  bool dry_run = false;
};
template <typename F>
void Describe(F& f, LetterOrder& order) {
  f("ids", order.filter.ids);
  f("runId", order.filter.run_id);
  f("eventType", order.filter.event_type);
  f("reason", order.filter.reason);
  f("perSecond", order.per_second);
  f("dryRun", order.dry_run);
}
struct LetterCount {
  std::uint64_t letters = 0;
  bool dry_run = false;
};
template <typename F>
void Describe(F& f, LetterCount& count) {
  f.Required("deadLetters", count.letters);
  f.Required("dryRun", count.dry_run);
}

struct RuleList {
  std::vector<InboundRule> rules;
};
template <typename F>
void Describe(F& f, RuleList& list) {
  f.Required("rules", list.rules);
}

struct InboundMatch {
  std::string rule_id;
  std::string run_id;
  bool duplicate = false;
  std::string code;
  std::string detail;
};
template <typename F>
void Describe(F& f, InboundMatch& match) {
  f.Required("ruleId", match.rule_id);
  f("runId", match.run_id);
  f("duplicate", match.duplicate);
  f("code", match.code);
  f("detail", match.detail);
}
struct InboundResult {
  std::string event_id;
  std::vector<InboundMatch> matches;
};
template <typename F>
void Describe(F& f, InboundResult& result) {
  f.Required("eventId", result.event_id);
  f.Required("matches", result.matches);
}
struct InboundAnswer {
  std::vector<InboundResult> results;
};
template <typename F>
void Describe(F& f, InboundAnswer& answer) {
  f.Required("results", answer.results);
}

EventBus::Caller CallerOf(const ApiCall& call) {
  return {call.tenant(), call.May(Permission::kTenantAny)};
}

void SetPaused(Api& api, ApiCall& call, bool paused) {
  const std::string& id = call.Parameter("sinkId");
  if (const Status done = api.bus().SetPaused(CallerOf(call), id, paused); !done) {
    return call.Fail(done.error());
  }
  const auto view = api.bus().Get(CallerOf(call), id);
  if (!view) return call.Fail(view.error());
  call.Answer(BodyOf(*view));
}

// Whether a retry may help; the sender is then asked to retry.
bool MayPass(ErrorCode code) {
  return code == ErrorCode::kStoreFull || code == ErrorCode::kStoreStopped ||
         code == ErrorCode::kEngineStopped || code == ErrorCode::kAdmissionRejected ||
         code == ErrorCode::kIndeterminate || code == ErrorCode::kStoreIo;
}

// Whether the run exists and belongs to the tenant.
Result<bool> HasRun(Api& api, const std::string& tenant_id, const RunId& run_id) {
  const auto run = api.engine().store().Read()->FindRun(run_id);
  if (!run) return run.error();
  return *run && (*run)->state.scope.tenant_id == tenant_id;
}

StartedRun Existing(std::string run_id) {
  StartedRun run;
  run.run_id = std::move(run_id);
  run.existing = true;
  return run;
}

// Starts the run for an event, or finds it. The run id is derived from the key, so that an event
// starts only one run for as long as the run or its tombstone exists.
Result<StartedRun> StartFor(Api& api, const std::string& tenant_id, const InboundOrder& order) {
  auto registered = api.plans().Find(tenant_id, order.start->plan_id, order.start->plan_version);
  if (!registered) return std::move(registered).error();
  auto document = api.plans().Document(*registered);
  if (!document) return std::move(document).error();
  const auto before = HasRun(api, tenant_id, RunId(FormerInboundRunId(order)));
  if (!before) return before.error();
  if (*before) return Existing(FormerInboundRunId(order));
  StartRequest request;
  request.plan = *std::move(document);
  request.inputs = order.start->inputs;
  request.run_id = InboundRunId(tenant_id, order);
  request.tenant_id = tenant_id;
  request.project_id = order.start->project_id;
  request.environment_id = order.start->environment_id;
  request.triggered_by = "rule:" + order.rule_id;
  request.trigger_source = "webhook";
  auto started = api.engine().Start(request);
  if (started) return started;
  const ErrorCode code = started.error().code;
  if (code == ErrorCode::kRunExpired) return Existing(request.run_id);
  if (code != ErrorCode::kRunAlreadyExists) return started;
  // The rule was changed and now starts another plan, but the event already has its run.
  const auto theirs = HasRun(api, tenant_id, RunId(request.run_id));
  if (!theirs) return theirs.error();
  return *theirs ? Result<StartedRun>(Existing(request.run_id)) : started;
}

Status Execute(Api& api, const std::string& tenant_id, const InboundOrder& order,
               InboundMatch& match) {
  match.rule_id = order.rule_id;
  if (order.start) {
    const auto started = StartFor(api, tenant_id, order);
    if (!started) return started.error();
    match.run_id = started->run_id;
    match.duplicate = started->existing;
    return Ok();
  }
  HookDelivery delivery;
  delivery.tenant_id = tenant_id;
  delivery.token = order.deliver->token;
  delivery.payload = order.deliver->payload;
  delivery.delivery_id = "in-" + order.key;
  const auto run_id = api.engine().Deliver(delivery);
  if (!run_id) return run_id.error();
  match.run_id = *run_id;
  return Ok();
}

Error TooMuchWork() {
  return {
      ErrorCode::kExpressionFailed,
      "the tenant's rules need more work for these events than one request may cause: send fewer "
      "events at a time, or simplify `when` in the rules. Runs that were already started are not "
      "started again when an event is repeated",
      {}};
}

void Receive(Api& api, ApiCall& call, const std::string& tenant_id, std::string_view id) {
  const auto events = ReadInboundEvents(call.request().headers, call.body(), id);
  if (!events) return call.Fail(events.error());
  const auto rules = api.inbound_rules().Of(tenant_id);
  if (!rules) return call.Fail(rules.error());
  InboundAnswer answer;
  std::size_t operations_left = kInboundOperationsMax;
  for (const InboundEvent& event : *events) {
    InboundResult& result = answer.results.emplace_back();
    result.event_id = event.id;
    for (const InboundRule& rule : (*rules)->rules) {
      const auto order = Apply(rule, event, operations_left);
      if (operations_left == 0) return call.Fail(TooMuchWork());
      if (order && !*order) continue;
      InboundMatch& match = result.matches.emplace_back();
      match.rule_id = rule.rule_id;
      const Status done = order ? Execute(api, tenant_id, **order, match) : Status(order.error());
      if (done) continue;
      // When the sender repeats the request, work already done is found again by its key.
      if (MayPass(done.error().code)) return call.Fail(done.error());
      match.code = Name(done.error().code);
      match.detail = done.error().message;
    }
  }
  call.Answer(answer);
}

}  // namespace

void ListSinks(Api& api, CallPtr call) {
  SinkList list;
  for (SinkView& view : api.bus().List(CallerOf(*call))) {
    list.sinks.push_back(BodyOf(std::move(view)));
  }
  call->Answer(list);
}

void GetSink(Api& api, CallPtr call) {
  auto view = api.bus().Get(CallerOf(*call), call->Parameter("sinkId"));
  if (!view) return call->Fail(view.error());
  call->Answer(BodyOf(*std::move(view)));
}

void PutSink(Api& api, CallPtr call) {
  auto put = api.bus().Put(CallerOf(*call), call->Parameter("sinkId"), call->body());
  if (!put) return call->Fail(put.error());
  call->Answer(BodyOf(std::move(put->sink)), put->existing ? 200 : 201);
}

void RemoveSink(Api& api, CallPtr call) {
  const Status removed = api.bus().Remove(CallerOf(*call), call->Parameter("sinkId"));
  if (!removed) return call->Fail(removed.error());
  call->Reply({204, {}, {}});
}

void PauseSink(Api& api, CallPtr call) { SetPaused(api, *call, true); }

void ResumeSink(Api& api, CallPtr call) { SetPaused(api, *call, false); }

void ListPending(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto pending = api.bus().Pending(CallerOf(*call), call->Parameter("sinkId"), limit);
  if (!pending) return call->Fail(pending.error());
  PendingList list;
  for (const LetterView& view : *pending) list.events.push_back(BodyOf(view));
  call->Answer(list);
}

void ListDeadLetters(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  LetterFilter filter;
  filter.run_id = query.Text("runId").value_or("");
  filter.event_type = query.Text("eventType").value_or("");
  filter.reason = query.Text("reason").value_or("");
  const std::string cursor = query.Text("cursor").value_or("");
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto page =
      api.bus().Letters(CallerOf(*call), call->Parameter("sinkId"), filter, cursor, limit);
  if (!page) return call->Fail(page.error());
  LetterList list;
  for (const DeadLetter& letter : page->letters) list.letters.push_back(BodyOf(letter));
  list.cursor = page->cursor;
  call->Answer(list);
}

void GetDeadLetter(Api& api, CallPtr call) {
  const auto view =
      api.bus().Letter(CallerOf(*call), call->Parameter("sinkId"), call->Parameter("letterId"));
  if (!view) return call->Fail(view.error());
  call->Answer(BodyOf(*view));
}

void ReplayDeadLetters(Api& api, CallPtr call) {
  const auto order = call->Read<LetterOrder>();
  if (!order) return;
  if (order->per_second < 0 || order->per_second > 1'000'000) {
    return call->Fail(Error{ErrorCode::kSchemaValidationFailed,
                            "invalid replay request",
                            {{"/perSecond", "must be 0 (no limit) to 1000000"}}});
  }
  const auto count = api.bus().ReplayLetters(CallerOf(*call), call->Parameter("sinkId"),
                                             order->filter, order->per_second, order->dry_run);
  if (!count) return call->Fail(count.error());
  call->Answer(LetterCount{*count, order->dry_run}, order->dry_run ? 200 : 202);
}

void PurgeDeadLetters(Api& api, CallPtr call) {
  const auto order = call->Read<LetterOrder>();
  if (!order) return;
  const auto count = api.bus().PurgeLetters(CallerOf(*call), call->Parameter("sinkId"),
                                            order->filter, order->dry_run);
  if (!count) return call->Fail(count.error());
  call->Answer(LetterCount{*count, order->dry_run});
}

void ListInboundRules(Api& api, CallPtr call) {
  const auto rules = api.inbound_rules().Of(call->tenant());
  if (!rules) return call->Fail(rules.error());
  call->Answer(RuleList{(*rules)->rules});
}

void PutInboundRule(Api& api, CallPtr call) {
  const auto rule = ReadInboundRule(call->body(), call->Parameter("ruleId"));
  if (!rule) return call->Fail(rule.error());
  const auto existing = api.inbound_rules().Put(call->tenant(), *rule);
  if (!existing) return call->Fail(existing.error());
  call->Answer(*rule, *existing ? 200 : 201);
}

void RemoveInboundRule(Api& api, CallPtr call) {
  const Status removed = api.inbound_rules().Remove(call->tenant(), call->Parameter("ruleId"));
  if (!removed) return call->Fail(removed.error());
  call->Reply({204, {}, {}});
}

void ReceiveEvents(Api& api, CallPtr call) {
  std::string id = call->IdOfKey();
  if (id.empty()) id = call->trace().trace_id;
  Receive(api, *call, call->tenant(), id);
}

void ReceiveSignedEvents(Api& api, CallPtr call) {
  const std::string& tenant = call->Parameter("tenantId");
  const auto& secrets = api.options().webhook_secrets;
  const auto known = secrets.find(tenant);
  // Answer alike for an unknown tenant and a wrong signature.
  const WebhookCheck check =
      known == secrets.end()
          ? WebhookCheck{}
          : CheckWebhook(call->request().headers, call->body(), known->second, api.clock().Now());
  if (check.verdict != WebhookVerdict::kGood) {
    return call->Fail(HttpCode::kWebhookSignatureInvalid, "the signature is not valid");
  }
  if (const Status room = api.tenant_storage().Check(tenant); !room) {
    return call->Fail(room.error());
  }
  Receive(api, *call, tenant, check.id);
}

}  // namespace everstep
