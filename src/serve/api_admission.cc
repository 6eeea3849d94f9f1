// Who may call, and how much of what the server has to share a call may take.

#include <algorithm>
#include <utility>

#include "base/content_count.h"
#include "serve/api.h"
#include "serve/operations.h"
#include "serve/server.h"

namespace everstep {
namespace {

Caller Everybody() {
  const RoleSet roles(Role::kAdmin, Role::kSystem);
  return {"dev", "dev", "default", roles, PermissionsOf(roles)};
}

// Without tokens every page that the user of this machine looks at could call through his browser,
// from its own origin or, with a name that leads here, from ours.
bool IsCalledFromHere(const ServerRequest& request) {
  if (!IsLoopback(request.Header("host"))) return false;
  std::string_view origin = request.Header("origin");
  if (origin.empty()) return true;
  constexpr std::string_view kHttp = "http://";
  if (!origin.starts_with(kHttp)) return false;
  return IsLoopback(origin.substr(kHttp.size()));
}

Problem Unauthenticated(std::string why) {
  return ProblemOf({ErrorCode::kUnauthenticated, std::move(why), {}});
}

std::string_view BearerOf(const ServerRequest& request) {
  const std::string_view header = request.Header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = header[i];
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower != kScheme[i]) return {};
  }
  return header.substr(kScheme.size());
}

// Whether the call stores something new. What ends or goes on with a run is not among it.
bool AddsData(const Route& route) {
  switch (*route.permission) {
    case Permission::kRunStart:
    case Permission::kEventAppend:
    case Permission::kPlanWrite:
    case Permission::kArtifactWrite:
      return true;
    default:
      return route.operation == "receiveEvents";
  }
}

ClientName ClientOf(const Caller& caller) {
  return {caller.tenant_id, caller.permissions.Has(Permission::kTenantAny)};
}

}  // namespace

std::optional<ClientName> Api::SenderOf(const ServerRequest& head) {
  const RouteMatch match = router_.Match(head.method, head.path);
  if (match.outcome != RouteMatch::Outcome::kFound || match.route->streams_body()) {
    return ClientName{};
  }
  const Admission admission = Admit(*match.route, head);
  if (admission.refusal) return std::nullopt;
  return ClientOf(admission.caller);
}

// Requests of one party are not all that the server can have under way, and those of tenants leave
// some to the operator and to probes.
bool Api::TakeShare(ApiCall& call) {
  const Route& route = call.route();
  // That the process lives is said whatever is under way; it takes nothing that others need.
  if (route.operation == "getLiveness") return true;
  const bool known = !call.caller().token_id.empty();
  std::string party = call.tenant();
  if (!known) {
    // Whoever calls has not shown who it is, but for a webhook of a tenant that takes them.
    const bool named = route.path.find("{tenantId}") != std::string_view::npos &&
                       options_.webhook_secrets.contains(call.Parameter("tenantId"));
    party = named ? "webhook/" + call.Parameter("tenantId") : "anybody";
    if (route.operation == "getReadiness") party = "probes";
  }
  auto share =
      known ? shares_.Take(party, call.May(Permission::kTenantAny)) : unproven_shares_.Take(party);
  if (!share) {
    call.Fail(HttpCode::kOverloaded,
              "the tenant, or all tenants together, have as many requests under way as they may; "
              "wait for some of their answers");
    return false;
  }
  call.SetParty(std::move(party), *std::move(share));
  return true;
}

// A stream holds a connection for as long as its reader likes.
std::optional<PartyShares::Share> Api::TakeStream(ApiCall& call) {
  auto share = stream_shares_.Take(call.tenant(), call.May(Permission::kTenantAny));
  if (!share) {
    call.Fail(Error{ErrorCode::kAdmissionRejected,
                    "the tenant, or all tenants together, follow as many streams as they may",
                    {},
                    std::chrono::milliseconds(1'000)});
  }
  return share;
}

// What is parsed takes more memory than what was received.
bool Api::ChargeBody(ApiCall& call, const OperationEntry& operation) {
  if (call.body().size() <= kIoBodyMax) return true;
  const std::size_t values = CountValues(operation.body, call.body());
  const MemoryClaim claim =
      call.route().permission ? MemoryClaim::kBody : MemoryClaim::kUnprovenBody;
  auto outcome = MemoryCharge::Outcome::kNever;
  // YAML is counted roughly; its parser counts exactly.
  const bool few = values <= kContentValuesMax || operation.body == ContentKind::kYaml;
  if (few) outcome = call.Charge(std::min(values, kContentValuesMax) * kContentValueBytes, claim);
  if (outcome == MemoryCharge::Outcome::kTaken) return true;
  if (outcome == MemoryCharge::Outcome::kNever) {
    call.Fail(HttpCode::kContentTooLarge,
              "the body has " + std::to_string(values) +
                  " values, more than one request may have; send less at a time");
  } else {
    call.Fail(HttpCode::kOverloaded, "the requests under way fill the server's memory; try again");
  }
  return false;
}

Api::Admission Api::Admit(const Route& route, const ServerRequest& request) {
  if (!route.permission) return {};
  if (options_.metrics_open && *route.permission == Permission::kMetricsRead) return {};
  if (parts_.tokens == nullptr) {
    if (IsCalledFromHere(request)) return {Everybody(), {}};
    return {{},
            ProblemOf({ErrorCode::kAuthzDenied,
                       "without authentication only this machine calls, by a name of its own",
                       {}})};
  }
  const std::string_view token = BearerOf(request);
  if (token.empty()) {
    return {{}, Unauthenticated("send the header \"Authorization: Bearer <token>\"")};
  }
  AccessTokens::Answer answer = parts_.tokens->Authenticate(token);
  const auto refuse = [&](std::string why) -> Admission {
    return {std::move(answer.caller), Unauthenticated(std::move(why))};
  };
  switch (answer.refusal) {
    case AccessTokens::Refusal::kNone:
      break;
    case AccessTokens::Refusal::kExpired:
      return refuse("the token has expired");
    case AccessTokens::Refusal::kRevoked:
      return refuse("the token was revoked");
    default:
      return refuse("the token is not valid");
  }
  if (answer.caller.permissions.Has(*route.permission)) return {std::move(answer.caller), {}};
  return {std::move(answer.caller),
          ProblemOf({ErrorCode::kAuthzDenied,
                     "the token's roles do not allow " + std::string(Name(*route.permission)),
                     {}})};
}

bool Api::Authenticate(ApiCall& call) {
  Admission admission = Admit(call.route(), call.request());
  call.SetCaller(std::move(admission.caller));
  // A token may have become valid since SenderOf said no: the body is lost all the same.
  if (!admission.refusal && call.streamed_body() != nullptr && !call.route().streams_body()) {
    admission.refusal = Unauthenticated("the token was not valid; try again");
  }
  if (admission.refusal) {
    call.Fail(*admission.refusal);
    return false;
  }
  if (call.route().permission && AddsData(call.route()) && !call.May(Permission::kTenantAny)) {
    if (const Status room = tenant_storage_.Check(call.tenant()); !room) {
      call.Fail(room.error());
      return false;
    }
  }
  if (call.caller().token_id.empty()) return true;
  switch (call.Vouch(ClientOf(call.caller()))) {
    case HttpCall::Vouched::kTaken:
      return true;
    case HttpCall::Vouched::kNoConnection:
      call.Fail(HttpCode::kOverloaded,
                "the tenant, or all tenants together, have as many connections as they may");
      return false;
    case HttpCall::Vouched::kNoMemory:
      call.Fail(HttpCode::kOverloaded,
                "what is under way for the tenant fills its share of the server's memory");
      return false;
  }
  return false;
}

}  // namespace everstep
