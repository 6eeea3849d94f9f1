// Decides who may call, and how much of the server's resources a call may use.

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

// Without tokens, any web page open in a local user's browser could call this server, either from
// its own origin or through a host name that resolves to this machine (DNS rebinding). Accept only
// loopback names in Host and Origin.
bool IsLoopbackRequest(const ServerRequest& request) {
  if (!IsLoopback(request.Header("host"))) return false;
  constexpr std::string_view kHttp = "http://";
  return std::ranges::all_of(request.headers, [&](const auto& header) {
    const std::string_view value = header.second;
    if (header.first != "origin") return true;
    return value.starts_with(kHttp) && IsLoopback(value.substr(kHttp.size()));
  });
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

// Whether the call stores new data. Calls that end or continue a run do not count.
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

// Answered under any load: uses nothing that others need.
bool IsProbe(const Route& route) {
  return route.operation == "getLiveness" || route.operation == "getReadiness";
}

ClientName ClientOf(const Caller& caller) {
  return {caller.tenant_id, caller.permissions.Has(Permission::kTenantAny)};
}

}  // namespace

Sender Api::SenderOf(const ServerRequest& head) {
  using enum Sender::Standing;
  const RouteMatch match = router_.Match(head.method, head.path);
  if (match.outcome != RouteMatch::Outcome::kFound) return {kUnknown, {}};
  if (IsProbe(*match.route)) return {kProbe, {}};
  const Admission admission = Admit(*match.route, head);
  if (admission.refusal) return {kRefused, {}};
  if (admission.caller.token_id.empty()) return {kUnknown, {}};
  return {kKnown, ClientOf(admission.caller)};
}

// No party can use the whole request limit, and tenants leave part of it to the operator.
bool Api::TakeShare(ApiCall& call) {
  const Route& route = call.route();
  if (IsProbe(route)) return true;
  const bool known = !call.caller().token_id.empty();
  std::string party = call.tenant();
  if (!known) {
    // The caller is unauthenticated, except that a tenant's webhooks have a share of their own.
    const bool named = route.path.find("{tenantId}") != std::string_view::npos &&
                       options_.webhook_secrets.contains(call.Parameter("tenantId"));
    party = named ? "webhook/" + call.Parameter("tenantId") : "anybody";
  }
  auto share =
      known ? shares_.Take(party, call.May(Permission::kTenantAny)) : unproven_shares_.Take(party);
  if (!share) {
    call.Fail(HttpCode::kOverloaded,
              "too many requests are in flight for the tenant or for all tenants together; wait "
              "for some of their answers");
    return false;
  }
  call.SetParty(std::move(party), *std::move(share));
  return true;
}

// A stream occupies a connection for as long as its reader wants.
std::optional<PartyShares::Share> Api::TakeStream(ApiCall& call) {
  auto share = stream_shares_.Take(call.tenant(), call.May(Permission::kTenantAny));
  if (!share) {
    call.Fail(Error{ErrorCode::kAdmissionRejected,
                    "the tenant, or all tenants together, have too many open streams",
                    {},
                    std::chrono::milliseconds(1'000)});
  }
  return share;
}

// A parsed body takes more memory than the received bytes.
bool Api::ChargeBody(ApiCall& call, const OperationEntry& operation) {
  if (call.body().size() <= kIoBodyMax) return true;
  return ChargeValues(call, CountValues(operation.body, call.body()),
                      operation.body == ContentKind::kYaml);
}

// To its body a plan is one text. By now the body is no longer parsed, but the plan and the inputs
// will be.
bool Api::ChargeStart(ApiCall& call, std::string_view plan, std::string_view inputs) {
  if (plan.size() + inputs.size() <= kIoBodyMax) return true;
  return ChargeValues(
      call, CountValues(ContentKind::kYaml, plan) + CountValues(ContentKind::kJson, inputs), true);
}

// YAML values are only estimated here; the parser counts them exactly.
bool Api::ChargeValues(ApiCall& call, std::size_t values, bool is_estimate) {
  const MemoryClaim claim =
      call.route().permission ? MemoryClaim::kBody : MemoryClaim::kUnprovenBody;
  auto outcome = MemoryCharge::Outcome::kNever;
  const bool few = values <= kContentValuesMax || is_estimate;
  if (few) outcome = call.Charge(std::min(values, kContentValuesMax) * kContentValueBytes, claim);
  if (outcome == MemoryCharge::Outcome::kTaken) return true;
  if (outcome == MemoryCharge::Outcome::kNever) {
    call.Fail(HttpCode::kContentTooLarge,
              "the body has " + std::to_string(values) +
                  " values, more than a request may have; send smaller requests");
  } else {
    call.FailForMemory();
  }
  return false;
}

Api::Admission Api::Admit(const Route& route, const ServerRequest& request) {
  if (!route.permission) return {};
  if (options_.metrics_open && *route.permission == Permission::kMetricsRead) return {};
  if (parts_.tokens == nullptr) {
    if (IsLoopbackRequest(request)) return {Everybody(), {}};
    return {{},
            ProblemOf({ErrorCode::kAuthzDenied,
                       "authentication is off: only loopback requests are accepted",
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
  // The token may have become valid after SenderOf rejected it, but the body is already discarded.
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
                "the tenant, or all tenants together, have too many connections");
      return false;
    case HttpCall::Vouched::kNoMemory:
      call.Fail(HttpCode::kOverloaded,
                "the tenant's requests in flight use up its share of the server's memory");
      return false;
  }
  return false;
}

}  // namespace everstep
