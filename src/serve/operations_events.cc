// Events and hooks: appending, reading, following, delivery.

#include <algorithm>
#include <utility>

#include "base/value.h"
#include "engine/event_view.h"
#include "serve/batch_reader.h"
#include "serve/etag.h"
#include "serve/last_event_id.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "wire/api_types.h"
#include "wire/engine_types.h"

namespace everstep {
namespace {

constexpr std::string_view kDialects[] = {"native", "contract", "devkit",
                                          "noetl",  "elephant", "cloudevents"};

std::optional<Dialect> DialectOf(QueryReader& query) {
  const auto word = query.Word("dialect", kDialects);
  return word ? DialectNamed(kDialects[*word]) : std::nullopt;
}

bool WantsStream(const ApiCall& call) {
  return call.request().Header("accept").find("text/event-stream") != std::string_view::npos;
}

// `end` is the run's last event if the run has ended; nullopt if more may come.
void Follow(Api& api, ApiCall& call, FollowRequest request, std::optional<EventSeq> end = {}) {
  const auto seen = LastEventId(call.request());
  if (!seen) return call.Fail(seen.error());
  if (*seen) request.after = **seen;
  // 204 stops EventSource from reconnecting once every event was seen; the end of a stream would
  // not.
  if (*seen && end && request.after >= end->value()) return call.Reply({204, {}, {}});
  auto share = api.TakeStream(call);
  if (!share) return;
  ServerResponse head;
  head.headers = {{"Content-Type", "text/event-stream"},
                  {"Cache-Control", "no-store"},
                  {"X-Accel-Buffering", "no"}};
  auto stream = call.Stream(std::move(head));
  std::string opening = "retry: 1000\n";
  // Send the starting point first: a client that is cut off before its first event must resume
  // here, not at a later "now". A block without data sets the id and dispatches nothing.
  if (request.run_id.empty()) opening += "id: " + std::to_string(request.after) + "\n";
  stream->Write(opening + "\n");
  api.followers().Add(std::move(request), std::move(stream), *std::move(share));
}

void AnswerAppended(ApiCall& call, bool single, std::span<Result<Appended>> answers) {
  if (single) {
    if (!answers.front()) return call.Fail(answers.front().error());
    const bool existing = answers.front()->idempotent;
    return call.Answer(*answers.front(), existing ? 200 : 201);
  }
  AppendAnswers all;
  all.results.reserve(answers.size());
  for (Result<Appended>& answer : answers) {
    all.results.push_back(AppendAnswer::Of(std::move(answer)));
  }
  call.Answer(all);
}

// Allocated by an io thread, which also sends the answer for a single event and frees the request.
class AppendRequest final : public AppendQueue::Request, public AnswerWork {
 public:
  explicit AppendRequest(CallPtr call) : call_(std::move(call)) {}

  void Done(std::unique_ptr<Request> self, std::span<Result<Appended>> answers) override {
    if (!single) return AnswerAppended(*call_, false, answers);
    answer_ = std::move(answers.front());
    (void)self.release();
    call_->AnswerBy(std::unique_ptr<AnswerWork>(this));
  }
  void Answer() override { AnswerAppended(*call_, true, std::span(&*answer_, 1)); }

  bool single = true;  // not a list

 private:
  const CallPtr call_;
  std::optional<Result<Appended>> answer_;
};

HookView ViewOf(const std::string& token, const HookHolder& holder, const StoredRun& run) {
  HookView view;
  view.token = token;
  view.run_id = holder.run_id.value();
  view.hook_id = holder.hook_id;
  view.plan_id = run.state.scope.plan_id;
  view.status = Name(run.state.status);
  return view;
}

// Adds what a page needs to ask a person for the answer.
void AddQuestion(StateReader& reader, const StoredRun& run, HookView& view) {
  EventQuery query;
  query.type = EventType::kHookCreated;
  query.entity = EntityKey{EntityKind::kHook, view.hook_id};
  query.newest_first = true;
  query.limit = 1;
  const auto created = reader.ReadEvents(run, query);
  if (!created || created->empty()) return;
  const Event& event = created->front();
  view.created_at = event.persisted_at;
  const auto payload = ValueFromJson(event.payload.empty() ? "{}" : event.payload);
  if (!payload) return;
  const Value metadata = payload->Get("metadata");
  const auto text = [&metadata](std::string_view name) {
    const Value member = metadata.Get(name);
    return member.kind() == Value::Kind::kText ? member.text() : std::string();
  };
  view.kind = text("kind");
  view.prompt = text("prompt");
}

HookDelivery DeliveryOf(const ApiCall& call, HookDelivery::Kind kind) {
  HookDelivery delivery;
  delivery.tenant_id = call.tenant();
  delivery.token = call.Parameter("token");
  delivery.delivery_id = call.IdOfKey();
  delivery.kind = kind;
  return delivery;
}

void AnswerDelivered(ApiCall& call, const std::string& token, const Result<std::string>& run_id) {
  if (!run_id) return call.Fail(run_id.error());
  HookView view;
  view.token = token;
  view.run_id = *run_id;
  call.Answer(view);
}

}  // namespace

void ListRunEvents(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  EventRequest request;
  request.run_id = call->Parameter("runId");
  request.dialect = DialectOf(query).value_or(Dialect::kNative);
  request.after = static_cast<std::uint64_t>(query.Integer("after", 0, INT64_MAX).value_or(0));
  if (const auto until = query.Integer("until", 1, INT64_MAX)) {
    request.until = static_cast<std::uint64_t>(*until);
  }
  request.event_type = query.Text("type").value_or("");
  request.entity_kind = query.Text("entityKind").value_or("");
  request.entity_id = query.Text("entityId").value_or("");
  request.limit = static_cast<std::size_t>(query.Integer("limit", 1, 10'000).value_or(1'000));
  request.bytes_max = kPageBytesMax;
  const bool streams = WantsStream(*call);
  constexpr const char* kNotForStreams =
      "applies to pages only; a stream can only be filtered by type";
  if (streams && request.until != UINT64_MAX) query.Refuse("until", kNotForStreams);
  if (streams && !request.entity_kind.empty()) query.Refuse("entityKind", kNotForStreams);
  if (streams && !request.entity_id.empty()) query.Refuse("entityId", kNotForStreams);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto run = api.FindRun(*call, request.run_id);
  if (!run) return;
  if (streams) {
    return Follow(
        api, *call,
        {{call->tenant()}, request.run_id, request.after, request.dialect, request.event_type},
        IsTerminal(run->state.status) ? std::optional(run->state.last_seq) : std::nullopt);
  }
  const auto page = api.log().Read(request);
  if (!page) return call->Fail(page.error());
  call->Json(200, ToWire(*page), WatermarkOf(run->state.last_seq.value()));
}

void ListEvents(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const Dialect dialect = DialectOf(query).value_or(Dialect::kNative);
  auto after = query.Integer("after", 0, INT64_MAX);
  const auto since = query.Time("since");
  const std::string type = query.Text("type").value_or("");
  RunsOf runs{call->tenant()};
  runs.project_id = query.Text("projectId").value_or("");
  runs.environment_id = query.Text("environmentId").value_or("");
  runs.plan_id = query.Text("planId").value_or("");
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 10'000).value_or(1'000));
  if (after && since) query.Refuse("since", "give either since or after");
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto reader = api.engine().store().Read();
  Position position(static_cast<std::uint64_t>(after.value_or(0)));
  if (since) {
    const auto before = reader->PositionBefore(*since);
    if (!before) return call->Fail(before.error());
    position = *before;
    runs.since = *since;
  }
  if (WantsStream(*call)) {
    // Without a starting point a follower sees what happens from now on.
    if (!after && !since) position = api.engine().store().LastPosition();
    return Follow(api, *call, {std::move(runs), {}, position.value(), dialect, type});
  }
  const Position from = position;
  auto events = ReadAlongOutbox(*reader, runs, dialect, limit, position);
  if (!events) return call->Fail(events.error());
  if (!type.empty())
    std::erase_if(*events, [&](const LogEvent& event) { return event.type != type; });
  EventPage page{*std::move(events), position.value(), position != from};
  call->Answer(page);
}

void AppendEvents(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  auto append = std::make_unique<AppendRequest>(call);
  append->dialect = DialectOf(query).value_or(Dialect::kNative);
  append->defaults.tenant_id = call->tenant();
  append->defaults.tenant_only = true;
  const auto take = [&query](std::string_view name, std::string& to) {
    if (auto text = query.Text(name)) to = *std::move(text);
  };
  take("projectId", append->defaults.project_id);
  take("environmentId", append->defaults.environment_id);
  take("planId", append->defaults.plan_id);
  take("planVersion", append->defaults.plan_version);
  if (append->dialect == Dialect::kCloudEvents) {
    query.Refuse("dialect", "CloudEvents can be read, not written");
  }
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  auto batch = SplitBatch(call->request().Header("content-type"), call->body());
  if (!batch) return call->Fail(batch.error());
  append->events = std::move(batch->documents);
  append->single = batch->single;
  api.appends().Add(std::move(append));
}

void DeliverHook(Api& api, CallPtr call) {
  HookDelivery delivery = DeliveryOf(*call, HookDelivery::Kind::kPayload);
  delivery.payload = call->body();
  AnswerDelivered(*call, delivery.token, api.engine().Deliver(delivery));
}

void FailHook(Api& api, CallPtr call) {
  auto body = call->Read<HookFailureBody>();
  if (!body) return;
  HookDelivery delivery = DeliveryOf(*call, HookDelivery::Kind::kFailure);
  delivery.error_code = std::move(body->code);
  delivery.error_message = std::move(body->message);
  delivery.retryable = body->retryable.value_or(true);
  AnswerDelivered(*call, delivery.token, api.engine().Deliver(delivery));
}

void HeartbeatHook(Api& api, CallPtr call) {
  const HookDelivery delivery = DeliveryOf(*call, HookDelivery::Kind::kHeartbeat);
  AnswerDelivered(*call, delivery.token, api.engine().Deliver(delivery));
}

void GetHook(Api& api, CallPtr call) {
  const std::string token = call->Parameter("token");
  const auto reader = api.engine().store().Read();
  const auto holder = reader->FindHook(call->tenant(), token);
  if (!holder) return call->Fail(holder.error());
  if (!*holder || (*holder)->kept_until != Timestamp{}) {
    return call->Fail(Error{ErrorCode::kHookNotFound, "no hook waits for this token", {}});
  }
  const auto run = RequireRun(*reader, (*holder)->run_id);
  if (!run) return call->Fail(run.error());
  HookView view = ViewOf(token, **holder, *run);
  AddQuestion(*reader, *run, view);
  // Only the plan's run knows which step is waiting, and until when.
  const auto plan_run = api.engine().View(view.run_id);
  if (plan_run) {
    const auto step = std::ranges::find(plan_run->steps, token, &StepView::hook_token);
    if (step != plan_run->steps.end()) {
      view.step_id = step->step_id;
      view.until = step->wakes_at;
    }
  }
  call->Answer(view);
}

void ReceiveWebhook(Api& api, CallPtr call) {
  const std::string tenant = call->Parameter("tenantId");
  const auto& secrets = api.options().webhook_secrets;
  const auto known = secrets.find(tenant);
  const auto refuse = [&](std::string detail) {
    call->Fail(HttpCode::kWebhookSignatureInvalid, std::move(detail));
  };
  // Answer alike for an unknown tenant and a wrong signature.
  if (known == secrets.end()) return refuse("the signature is not valid");
  const Timestamp now = api.clock().Now();
  const WebhookCheck check =
      CheckWebhook(call->request().headers, call->body(), known->second, now);
  if (check.verdict != WebhookVerdict::kGood) return refuse("the signature is not valid");
  HookDelivery delivery;
  delivery.tenant_id = tenant;
  delivery.token = call->Parameter("token");
  delivery.payload = call->body();
  // The sender's id makes redelivery idempotent, also after a restart.
  delivery.delivery_id = check.id;
  if (!api.webhook_ids().Add(tenant + "/" + delivery.token, check.id, now)) {
    return call->Json(200, "{}");
  }
  const auto run_id = api.engine().Deliver(delivery);
  if (!run_id) api.webhook_ids().Forget(tenant + "/" + delivery.token, check.id);
  AnswerDelivered(*call, delivery.token, run_id);
}

}  // namespace everstep
