#include "serve/devkit/world_service.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "serve/devkit/devalue.h"
#include "serve/devkit/stalled_run.h"

namespace everstep {
namespace {

constexpr std::size_t kCallsMax = 1000;
constexpr std::uint32_t kConcurrencyMost = 10'000;
constexpr std::size_t kPreloadMax = 1000;  // in events; a longer log is read in pages
constexpr std::size_t kNamespaceMax = 64;
constexpr std::size_t kUsualAnswer = 1024;  // bytes
constexpr std::size_t kAnswersBytesMax = 32 << 20;
// Beyond this, answers contain no events that the caller can list instead.
constexpr std::size_t kPreloadBytesMax = kAnswersBytesMax / 2;
constexpr std::size_t kRowsMax = 100'000;      // read for the answers to one request
constexpr std::size_t kRegistrationsMax = 16;  // of one request; each waits for the disk
constexpr std::size_t kRouteBytesMax = 8 << 10;

std::string_view MethodOf(const CborItem& args) { return args.Text("m"); }

WorldOutcome OutcomeOf(const Status& status) {
  if (status) return std::nullopt;
  return WorldErrorOf(status.error());
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

}  // namespace

std::string WorldService::NewRunId() {
  const std::lock_guard lock(mutex_);
  return "wrun_" + ulids_.Next();
}

std::uint32_t WorldService::SpecIn(const CborItem& request) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(request.Uint("spec"), UINT32_MAX));
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
  const WorldCaller caller{call->tenant(), SpecIn(*request), parts_.clock.Now(), std::string(space),
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
  RefuseRegistrations(calls);
  // The order within a batch does not matter, so do first what can be made durable together.
  Used used;
  CreateAll(*call, caller, calls, used);
  SendAll(*call, calls);
  WriteStreams(*call, calls);
  std::string body;
  body.reserve(calls.size() * kUsualAnswer);
  CborWriter cbor(body);
  cbor.ArrayOf(calls.size());
  for (One& one : calls) {
    if (!one.error && one.answer.empty()) {
      one.error = CheckRoom(*call, used);
      if (!one.error) Answer(*call, caller.spec, one);
      used.Add(one);
    }
    WriteAnswer(one, body);
    std::string().swap(one.answer);
  }
  call->Reply({200, {{"Content-Type", "application/cbor"}}, std::move(body)});
}

// Returns an error if the calls that have been answered leave no room for another answer.
WorldOutcome WorldService::CheckRoom(ApiCall& call, const Used& used) {
  if (used.bytes >= kAnswersBytesMax) {
    return WorldError{"WorkflowWorldError", 413,
                      "the answers to these calls are too large; send fewer calls at a time"};
  }
  if (used.rows >= kRowsMax) {
    return WorldError::Throttled("these calls read too many rows; send fewer calls at a time", 1);
  }
  if (!call.ChargeAnswer(used.bytes + kUsualAnswer)) {
    return WorldError{"WorkflowWorldError", 503,
                      "the requests in flight use up the server's memory; try again"};
  }
  return std::nullopt;
}

// An application registers once in a while.
void WorldService::RefuseRegistrations(std::vector<One>& calls) {
  std::size_t count = 0;
  for (One& one : calls) {
    if (MethodOf(*one.args) != "queue.register" || ++count <= kRegistrationsMax) continue;
    one.error = WorldError::Throttled("a request can register at most 16 endpoints", 1);
  }
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

void WorldService::CreateAll(ApiCall& call, const WorldCaller& caller, std::vector<One>& calls,
                             Used& used) {
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
    LookAtAttributes(call, caller, asked, views, used);
    Create(call, caller, asked, used);
    std::erase_if(asked, [](const One* one) { return !one->order->is_outdated(); });
  }
}

void WorldService::Create(ApiCall& call, const WorldCaller& caller, std::span<One* const> asked,
                          Used& used) {
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
    // The event is durable now, so an answer without opaque parts is refused last.
    const std::size_t most = one.args->Flag("lean") ? 2 * kAnswersBytesMax : kAnswersBytesMax;
    if (used.bytes >= most || !call.ChargeAnswer(used.bytes + kUsualAnswer)) {
      one.error = WorldError::Throttled(
          "the event is recorded, but the answers to these calls are too large", 1);
      continue;
    }
    one.answer.reserve(kUsualAnswer);
    WorldReader world(*reader, caller);
    one.error = Created(one, *placed[i], caller.tenant_id, used, world);
    one.rows = world.rows_read();
    used.Add(one);
  }
}

// The answer leaves out what the caller sent; the caller merges the two.
WorldOutcome WorldService::Created(One& one, const Placed& placed, const std::string& tenant_id,
                                   const Used& used, WorldReader& world) {
  const CborItem& args = *one.args;
  const WorldOrder& order = *one.order;
  CborWriter cbor(one.answer);
  StoredRun run = order.run();
  if (run.state.scope.tenant_id != tenant_id) return WorldError::NoRun(order.run_id().value());
  // The run's number and times are assigned at commit, so the decision did not know them.
  if (run.run_no == RunNo()) {
    auto stored = world.FindRun(order.run_id().value());
    if (auto* const error = std::get_if<WorldError>(&stored)) return std::move(*error);
    run.run_no = std::get<StoredRun>(stored).run_no;
    run.state.created_at = std::get<StoredRun>(stored).state.created_at;
  }
  run.state.updated_at = placed.persisted_at;
  const bool recorded = !order.recorded().empty();
  const EventSeq seq = recorded ? order.recorded().back().seq : placed.seq;
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
        cbor.Key("event");
        (void)world.WriteEvent(run, order.recorded().back(), Detail::kFull, cbor);
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
  const bool fits = used.bytes < kPreloadBytesMax && used.rows < kRowsMax;
  if (fits && (preload || !since.empty())) {
    wrong = world.WriteEvents(run, "events", page, Detail::kFull, cbor);
  }
  cbor.End();
  return wrong;
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
  std::size_t route_bytes = 0;
  for (const Endpoint::Route& route : endpoint.routes) {
    route_bytes += route.topic_prefix.size() + route.url.size();
  }
  const bool whole = !endpoint.id.empty() && endpoint.id.size() <= 128 &&
                     endpoint.secret.size() >= 16 && endpoint.secret.size() <= 256 &&
                     !endpoint.routes.empty() && endpoint.routes.size() <= 64 &&
                     route_bytes <= kRouteBytesMax;
  const bool fine = whole && std::ranges::all_of(endpoint.routes, [](const Endpoint::Route& route) {
                      const bool http =
                          route.url.starts_with("http://") || route.url.starts_with("https://");
                      return http && route.url.size() <= 2048 && !route.topic_prefix.empty() &&
                             route.topic_prefix.size() <= 256;
                    });
  if (!fine) {
    return WorldError::Invalid(
        "an endpoint needs id, a secret of at least 16 characters, and routes of prefix and url, "
        "of "
        "at most 8 KiB in total");
  }
  if (auto wrong = OutcomeOf(parts_.queue.Register(std::move(endpoint)))) return wrong;
  cbor.BeginMap();
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
  if (method == "streams.list") return ListStreams(call, args, cbor);
  const auto reader = parts_.log.store().Read();
  WorldReader world(*reader, {call.tenant(), spec, parts_.clock.Now(), {}, &attributes_});
  WorldOutcome outcome = world.Answer(method, args, cbor);
  rows = world.rows_read();
  return outcome;
}

}  // namespace everstep
