#include "serve/devkit/world_service.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "serve/devkit/devalue.h"
#include "serve/devkit/stalled_run.h"

namespace everstep {
namespace {

constexpr std::size_t kCallsMax = 1000;
constexpr std::size_t kChunksPerRead = 1000;
constexpr std::size_t kChunkBytesPerRead = 4 << 20;
constexpr std::chrono::milliseconds kWaitMost{60'000};
constexpr std::uint32_t kConcurrencyMost = 10'000;
constexpr std::size_t kPreloadMax = 1000;  // in events; a longer log is read in pages
constexpr std::size_t kNamespaceMax = 64;
constexpr std::size_t kUsualAnswer = 1024;  // bytes
constexpr std::size_t kAnswersBytesMax = 32 << 20;
constexpr std::size_t kRowsMax = 100'000;  // read for the lists of one request

std::string_view MethodOf(const CborItem& args) { return args.Text("m"); }

StreamName StreamOf(const ApiCall& call, const CborItem& args) {
  return {call.tenant(), std::string(args.Text("runId")), std::string(args.Text("name"))};
}

WorldOutcome OutcomeOf(const Status& status) {
  if (status) return std::nullopt;
  return WorldErrorOf(status.error());
}

std::uint32_t SpecOf(const CborItem& request) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(request.Uint("spec"), UINT32_MAX));
}

// The runtime's rule: a lowercase letter followed by lowercase letters and digits.
bool IsNamespace(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kNamespaceMax && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool Writes(std::string_view method) {
  return method == "events.create" || method == "queue.send" || method == "queue.register" ||
         method == "queue.unregister" || method == "streams.write" || method == "streams.close";
}

// The index where a reader begins; a negative index counts from the end.
std::uint64_t StartOf(const CborItem& args, const StreamExtent& info) {
  const CborItem* start = args.Find("startIndex");
  if (start == nullptr) return 0;
  const double wanted = start->AsNumber();
  if (std::isnan(wanted)) return 0;
  if (wanted >= 0) return static_cast<std::uint64_t>(wanted);
  return static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(info.chunks) + wanted));
}

// A caller that connected over loopback may be called over loopback, because it could reach those
// addresses itself. A proxy on this machine connects over loopback for others, but says so.
bool IsOnThisMachine(const ServerRequest& request) {
  const std::string& peer = request.peer_address;
  if (!peer.starts_with("127.") && peer != "::1") return false;
  constexpr std::string_view kOfProxies[] = {"forwarded", "x-forwarded-for", "x-forwarded-host",
                                             "x-real-ip", "via"};
  return std::ranges::all_of(kOfProxies,
                             [&](std::string_view name) { return request.Header(name).empty(); });
}

// Whether the calls of a request that have been answered leave room for another one.
WorldOutcome CheckWork(std::size_t answer_bytes, std::size_t rows) {
  if (answer_bytes >= kAnswersBytesMax) {
    return WorldError{"WorkflowWorldError", 413,
                      "the answers to these calls are too large; send fewer calls at a time"};
  }
  if (rows >= kRowsMax) {
    return WorldError::Throttled("these calls read too many rows; send fewer calls at a time", 1);
  }
  return std::nullopt;
}

}  // namespace

std::string WorldService::NewRunId() {
  const std::lock_guard lock(mutex_);
  return "wrun_" + ulids_.Next();
}

void WorldService::Handle(const CallPtr& call) {
  auto parsed = ParseCbor(call->body());
  if (!parsed) return call->Fail(parsed.error());
  const auto request = std::make_shared<CborItem>(*std::move(parsed));
  const CborItem* list = request->Find("calls");
  if (list == nullptr || list->kind != CborItem::Kind::kArray || list->items.size() > kCallsMax) {
    return call->Fail(HttpCode::kBadRequest,
                      "the request must contain a list of at most 1,000 calls");
  }
  if (WaitsForStream(call, request)) return;
  const std::string_view space = request->Text("namespace");
  if (!space.empty() && !IsNamespace(space)) {
    return call->Fail(HttpCode::kBadRequest, "a namespace must be lowercase letters and digits");
  }
  const WorldCaller caller{call->tenant(), SpecOf(*request), parts_.clock.Now(), std::string(space),
                           &attributes_};
  const bool bound = !call->May(Permission::kTenantAny);
  const Status room = bound ? parts_.storage.Check(call->tenant()) : Ok();
  std::vector<One> calls(list->items.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].args = &list->items[i];
    if (!Writes(MethodOf(*calls[i].args))) continue;
    if (!call->May(Permission::kEventAppend)) {
      calls[i].error =
          WorldError{"WorkflowWorldError", 403, "the token's roles do not allow event.append"};
    } else if (!room) {
      calls[i].error = WorldError{"WorkflowWorldError", 507, room.error().message};
    }
  }
  // The order within a batch does not matter, so do first what can be made durable together.
  CreateAll(*call, caller, calls);
  SendAll(*call, calls);
  std::string body;
  body.reserve(calls.size() * kUsualAnswer);
  CborWriter cbor(body);
  cbor.ArrayOf(calls.size());
  std::size_t rows = 0;
  for (One& one : calls) {
    if (!one.error && one.answer.empty()) {
      one.error = CheckWork(body.size(), rows);
      if (!one.error && !call->ChargeAnswer(body.size() + kUsualAnswer)) {
        one.error = WorldError{"WorkflowWorldError", 503,
                               "the requests in flight use up the server's memory; try again"};
      }
      if (!one.error) Answer(*call, caller.spec, one);
      rows += one.rows;
    }
    WriteAnswer(one, body);
  }
  call->Reply({200, {{"Content-Type", "application/cbor"}}, std::move(body)});
}

void WorldService::WriteAnswer(const One& one, std::string& body) {
  CborWriter cbor(body);
  cbor.ArrayOf(2);
  cbor.Uint(one.error ? 1 : 0);
  if (one.error) {
    one.error->Write(cbor);
  } else {
    body.append(one.answer);
  }
}

// ---- events

void WorldService::CreateAll(const ApiCall& call, const WorldCaller& caller,
                             std::vector<One>& calls) {
  std::vector<One*> asked;
  for (One& one : calls) {
    if (one.error || MethodOf(*one.args) != "events.create") continue;
    one.order = std::make_unique<WorldOrder>();
    one.error = WorldOrder::Read(*one.args, caller, NewRunId(), *one.order);
    if (!one.error) asked.push_back(&one);
  }
  // Repeat for orders whose attributes were changed concurrently.
  while (!asked.empty()) {
    AttributeViews views;
    LookAtAttributes(caller, asked, views);
    Create(call, caller, asked);
    std::erase_if(asked, [](const One* one) { return !one->order->is_outdated(); });
  }
}

void WorldService::Create(const ApiCall& call, const WorldCaller& caller,
                          std::span<One* const> asked) {
  std::vector<AppendOrder> orders;
  for (One* one : asked) orders.push_back({one->order->run_id(), {}, one->order.get()});
  const RunScope defaults{call.tenant(), "default", "default", {}, {}};
  AppendAuthority& authority = parts_.log.authority();
  const auto placed = authority.Await(authority.Submit(orders, defaults));
  const auto reader = parts_.log.store().Read();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    One& one = *asked[i];
    if (!placed[i]) {
      if (one.order->is_outdated()) continue;
      // A rule's refusal has its own DevKit error; a failed write is translated.
      const bool ruled =
          one.order->refusal() && placed[i].error().code == ErrorCode::kInvalidTransition;
      one.error = ruled ? *one.order->refusal() : WorldErrorOf(placed[i].error());
      continue;
    }
    if (placed[i]->payload_mismatch && !one.args->Text("resumeId").empty()) {
      one.error = WorldError{"WorkflowWorldError", 422,
                             "this resumeId was already used with a different payload"};
      continue;
    }
    one.order->Committed(placed[i]->persisted_at);
    one.answer.reserve(kUsualAnswer);
    CborWriter cbor(one.answer);
    one.error = Created(*one.args, *one.order, *placed[i], caller, *reader, cbor);
  }
}

// The answer leaves out what the caller sent; the caller merges the two.
WorldOutcome WorldService::Created(const CborItem& args, const WorldOrder& order,
                                   const Placed& placed, const WorldCaller& caller,
                                   StateReader& reader, CborWriter& cbor) {
  StoredRun run = order.run();
  if (run.state.scope.tenant_id != caller.tenant_id) {
    return WorldError::NoRun(order.run_id().value());
  }
  // The run's number and times are assigned at commit, so the decision did not know them.
  if (run.run_no == RunNo()) {
    const auto stored = reader.FindRun(order.run_id());
    if (!stored) return WorldErrorOf(stored.error());
    if (!*stored) return WorldError::NoRun(order.run_id().value());
    run.run_no = (*stored)->run_no;
    run.state.created_at = (*stored)->state.created_at;
  }
  run.state.updated_at = placed.persisted_at;
  const bool recorded = !order.recorded().empty();
  const EventSeq seq = recorded ? order.recorded().back().seq : placed.seq;
  WorldReader world(reader, caller);
  world.Know(order.recorded());
  const auto resolve = args.Flag("lean") ? Detail::kOutline : Detail::kFull;
  cbor.BeginMap();
  if (recorded || !placed.event_id.empty()) {
    cbor.Member("eventId", EventIdOf(seq));
    cbor.Member("createdAt", placed.persisted_at);
  }
  WorldOutcome wrong;
  switch (order.spec().entity) {
    case EntityKind::kRun:
      cbor.Key("run");
      wrong = world.WriteRun(run, resolve, cbor);
      break;
    case EntityKind::kStep:
      if (order.made_step()) cbor.Member("stepCreated", true);
      cbor.Key("step");
      wrong = world.WriteStep(run, order.correlation_id(), order.entity(), resolve, cbor);
      break;
    case EntityKind::kHook:
      if (order.spec().type != WorldEventType::kHookCreated) break;
      if (order.met_conflict()) {
        const auto events =
            reader.ReadEvents(run, {.after = EventSeq(seq.value() - 1), .until = seq, .limit = 1});
        if (!events) return WorldErrorOf(events.error());
        cbor.Key("event");
        (void)world.WriteEvent(run, events->front(), Detail::kFull, cbor);
        break;
      }
      cbor.Key("hook");
      wrong = world.WriteHook(run, order.correlation_id(), order.entity(), resolve, cbor);
      break;
    case EntityKind::kWait:
      cbor.Key("wait");
      wrong = world.WriteWait(run, order.correlation_id(), order.entity(), cbor);
      break;
    default:
      break;
  }
  if (wrong) return wrong;
  const std::string_view since = args.Text("sinceCursor");
  const bool preload = order.spec().type == WorldEventType::kRunStarted &&
                       !args.Flag("skipPreload") && run.state.last_seq.value() <= kPreloadMax;
  WorldReader::Page page{.limit = kPreloadMax};
  if (!since.empty()) page.after = SeqOfEventId(since).value_or(EventSeq());
  if (preload || !since.empty()) {
    wrong = world.WriteEvents(run, "events", page, Detail::kFull, cbor);
  }
  cbor.End();
  return wrong;
}

std::optional<Result<std::string>> WorldService::Resume(const HookDelivery& delivery) {
  auto reader = parts_.log.store().Read();
  const auto holder = reader->FindHook(delivery.tenant_id, delivery.token);
  if (!holder || !*holder) return std::nullopt;
  const auto found = reader->FindRun((*holder)->run_id);
  reader.reset();
  if (!found || !*found || SpecOf((*found)->state) == 0) return std::nullopt;
  const StoredRun& run = **found;
  const auto value = delivery.payload.empty() ? Value() : ValueFromJson(delivery.payload);
  if (!value) return value.error();
  const auto payload = DevaluePayload(*value);
  if (!payload) return payload.error();
  std::string bytes;
  CborWriter cbor(bytes);
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("type", "hook_received");
  cbor.Member("correlationId", (*holder)->hook_id);
  cbor.Member("requestId", delivery.delivery_id);
  cbor.Member("specVersion", SpecOf(run.state));
  cbor.Key("data");
  cbor.BeginMap();
  cbor.Member("token", delivery.token);
  cbor.Key("payload");
  cbor.Bytes(*payload);
  cbor.End();
  cbor.End();
  WorldOrder order;
  const WorldCaller caller{delivery.tenant_id, UINT32_MAX, parts_.clock.Now(), {}};
  if (auto bad = WorldOrder::Read(*ParseCbor(bytes), caller, {}, order)) {
    return Error{ErrorCode::kInvalidArgument, std::move(bad->message), {}};
  }
  const AppendOrder append{run.run_id, {}, &order};
  AppendAuthority& authority = parts_.log.authority();
  const auto placed = authority.Await(authority.Submit(std::span(&append, 1), {}));
  if (!placed[0] && order.refusal()) {
    return Error{ErrorCode::kHookNotFound, "no hook waits for this token", {}};
  }
  if (!placed[0]) return placed[0].error();
  // Resend on duplicates too: the earlier message may never have been sent, and an extra wake-up is
  // harmless.
  const auto sent = parts_.queue.Send({ReplayMessage(run)});
  if (!sent) return sent.error();
  return run.run_id.value();
}

// ---- messages

void WorldService::SendAll(const ApiCall& call, std::vector<One>& calls) {
  std::vector<NewMessage> messages;
  std::vector<One*> asked;
  for (One& one : calls) {
    if (one.error || MethodOf(*one.args) != "queue.send") continue;
    NewMessage message;
    message.tenant_id = call.tenant();
    message.topic = one.args->Text("queue");
    message.id = one.args->Text("id");
    message.group = one.args->Text("group");
    message.key = one.args->Text("key");
    message.body = one.args->Bytes("body");
    if (const CborItem* delay = one.args->Find("delaySeconds")) {
      const double seconds = delay->AsNumber();
      if (seconds > 0 && seconds < 1e9) {
        message.delay = std::chrono::milliseconds(std::llround(seconds * 1e3));
      }
    }
    if (const CborItem* headers = one.args->Find("headers")) {
      for (std::size_t i = 0; i + 1 < headers->items.size(); i += 2) {
        message.headers.emplace_back(headers->items[i].text, headers->items[i + 1].text);
      }
    }
    messages.push_back(std::move(message));
    asked.push_back(&one);
  }
  if (asked.empty()) return;
  const auto ids = parts_.queue.Send(std::move(messages));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!ids) {
      asked[i]->error = WorldErrorOf(ids.error());
      continue;
    }
    CborWriter cbor(asked[i]->answer);
    cbor.BeginMap();
    cbor.Member("messageId", (*ids)[i]);
    cbor.End();
  }
}

WorldOutcome WorldService::Register(const ApiCall& call, const CborItem& args, CborWriter& cbor) {
  Endpoint endpoint;
  endpoint.tenant_id = call.tenant();
  endpoint.id = args.Text("id");
  endpoint.secret = args.Text("secret");
  endpoint.concurrency = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(args.Uint("concurrency", 1), 1, kConcurrencyMost));
  endpoint.on_this_machine = parts_.loopback_endpoints && IsOnThisMachine(call.request());
  const CborItem* routes = args.Find("routes");
  if (routes != nullptr) {
    for (const CborItem& route : routes->items) {
      endpoint.routes.push_back(
          {std::string(route.Text("prefix")), std::string(route.Text("url"))});
    }
  }
  const bool whole = !endpoint.id.empty() && endpoint.id.size() <= 128 &&
                     endpoint.secret.size() >= 16 && endpoint.secret.size() <= 256 &&
                     !endpoint.routes.empty() && endpoint.routes.size() <= 64;
  const bool fine = whole && std::ranges::all_of(endpoint.routes, [](const Endpoint::Route& route) {
                      const bool http =
                          route.url.starts_with("http://") || route.url.starts_with("https://");
                      return http && route.url.size() <= 2048 && !route.topic_prefix.empty() &&
                             route.topic_prefix.size() <= 256;
                    });
  if (!fine) {
    return WorldError::Invalid(
        "an endpoint needs id, a secret of at least 16 characters, and routes of prefix and url");
  }
  if (auto wrong = OutcomeOf(parts_.queue.Register(std::move(endpoint)))) return wrong;
  cbor.BeginMap();
  cbor.End();
  return std::nullopt;
}

// ---- streams

bool WorldService::WaitsForStream(const CallPtr& call, const std::shared_ptr<CborItem>& request) {
  const CborItem* list = request->Find("calls");
  if (list->items.size() != 1 || MethodOf(list->items[0]) != "streams.read") return false;
  const CborItem& args = list->items[0];
  const std::chrono::milliseconds wait(args.Uint("waitMs"));
  if (wait.count() == 0) return false;
  const StreamName stream = StreamOf(*call, args);
  const auto info = parts_.streams.Extent(stream);
  if (!info) return false;
  const std::uint64_t from = StartOf(args, *info);
  if (info->closed || info->chunks > from) return false;
  call->ReleaseReserve();
  return parts_.streams.WhenGrown(stream, from, std::min(wait, kWaitMost), [this, call, request] {
    One one;
    one.args = &request->Find("calls")->items[0];
    Answer(*call, SpecOf(*request), one);
    std::string body;
    CborWriter cbor(body);
    cbor.ArrayOf(1);
    WriteAnswer(one, body);
    call->Reply({200, {{"Content-Type", "application/cbor"}}, std::move(body)});
  });
}

WorldOutcome WorldService::ReadStream(const ApiCall& call, const CborItem& args, CborWriter& cbor) {
  const StreamName stream = StreamOf(call, args);
  const auto info = parts_.streams.Extent(stream);
  if (!info) return WorldErrorOf(info.error());
  const std::size_t limit =
      std::clamp<std::size_t>(args.Uint("limit", kChunksPerRead), 1, kChunksPerRead);
  const auto page = parts_.streams.Read(stream, StartOf(args, *info), limit, kChunkBytesPerRead);
  if (!page) return WorldErrorOf(page.error());
  cbor.BeginMap();
  cbor.Member("first", page->first);
  cbor.Key("chunks");
  cbor.BeginArray();
  for (const std::string& chunk : page->chunks) cbor.Bytes(chunk);
  cbor.End();
  cbor.Member("count", page->info.chunks);
  cbor.Member("done", page->info.closed);
  cbor.End();
  return std::nullopt;
}

// ---- other calls

void WorldService::Answer(const ApiCall& call, std::uint32_t spec, One& one) {
  CborWriter cbor(one.answer);
  one.error = Dispatch(call, *one.args, spec, cbor, one.rows);
}

WorldOutcome WorldService::Dispatch(const ApiCall& call, const CborItem& args, std::uint32_t spec,
                                    CborWriter& cbor, std::size_t& rows) {
  const std::string_view method = MethodOf(args);
  const auto done = [&cbor](const Status& status) -> WorldOutcome {
    if (!status) return WorldErrorOf(status.error());
    cbor.BeginMap();
    cbor.End();
    return std::nullopt;
  };
  if (method.starts_with("queue.")) {
    if (method == "queue.register") return Register(call, args, cbor);
    if (method == "queue.unregister") {
      parts_.queue.Unregister(call.tenant(), std::string(args.Text("id")));
      return done(Ok());
    }
  }
  if (method == "streams.read") return ReadStream(call, args, cbor);
  if (method == "streams.close") return done(parts_.streams.Close(StreamOf(call, args)));
  if (method == "streams.write") {
    std::vector<std::string> chunks;
    if (const CborItem* list = args.Find("chunks")) {
      for (const CborItem& chunk : list->items) chunks.emplace_back(chunk.text);
    }
    return done(parts_.streams.Append(StreamOf(call, args), std::move(chunks),
                                      std::string(args.Text("requestId"))));
  }
  if (method == "streams.list") {
    const auto names = parts_.streams.List(call.tenant(), std::string(args.Text("runId")));
    if (!names) return WorldErrorOf(names.error());
    cbor.BeginArray();
    for (const std::string& name : *names) cbor.Text(name);
    cbor.End();
    return std::nullopt;
  }
  const auto reader = parts_.log.store().Read();
  WorldReader world(*reader, {call.tenant(), spec, parts_.clock.Now(), {}, &attributes_});
  WorldOutcome outcome = world.Answer(method, args, cbor);
  rows = world.rows_read();
  return outcome;
}

}  // namespace everstep
