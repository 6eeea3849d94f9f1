// The server itself: health, metrics, tokens, alerts, audit.

#include <filesystem>
#include <utility>

#include "base/json.h"
#include "net/content_coding.h"
#include "serve/documents.h"
#include "serve/metrics_text.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "wire/api_types.h"

namespace everstep {
namespace {

struct TokenBody {
  std::string token_id;
  std::string name;
  std::string tenant_id;
  std::vector<std::string> roles;
  std::optional<SystemTime> created_at;
  std::optional<SystemTime> expires_at;
  std::optional<SystemTime> last_used_at;
  std::optional<SystemTime> rotated_at;
  std::optional<SystemTime> revoked_at;
  std::string token;  // with its secret; only in the answer to its creation or rotation
};
template <typename F>
void Describe(F& f, TokenBody& token) {
  f("tokenId", token.token_id);
  f("name", token.name);
  f("tenantId", token.tenant_id);
  f("roles", token.roles);
  f("createdAt", token.created_at);
  f("expiresAt", token.expires_at);
  f("lastUsedAt", token.last_used_at);
  f("rotatedAt", token.rotated_at);
  f("revokedAt", token.revoked_at);
  f("token", token.token);
}
struct TokenList {
  std::vector<TokenBody> tokens;
};
template <typename F>
void Describe(F& f, TokenList& list) {
  f.Required("tokens", list.tokens);
}
struct NewTokenBody {
  std::string name;
  std::string tenant_id;
  std::vector<std::string> roles;
  std::optional<SystemTime> expires_at;
};
template <typename F>
void Describe(F& f, NewTokenBody& body) {
  f.Required("name", body.name);
  f("tenantId", body.tenant_id);
  f.Required("roles", body.roles);
  f("expiresAt", body.expires_at);
}
struct RotateBody {
  std::chrono::milliseconds grace{60'000};
};
template <typename F>
void Describe(F& f, RotateBody& body) {
  f("graceMs", body.grace);
}
struct AlertBody {
  SystemTime at{};
  Alert alert;
};
template <typename F>
void Describe(F& f, AlertBody& body) {
  f.Required("at", body.at);
  Describe(f, body.alert);
}
struct AlertBodies {
  std::vector<AlertBody> alerts;
};
template <typename F>
void Describe(F& f, AlertBodies& list) {
  f.Required("alerts", list.alerts);
}

TokenBody BodyOf(const TokenView& view) {
  TokenBody body;
  body.token_id = view.token_id;
  body.name = view.name;
  body.tenant_id = view.tenant_id;
  for (const RoleRule& rule : RoleRules()) {
    if (view.roles.Has(rule.role)) body.roles.emplace_back(rule.name);
  }
  body.created_at = view.created_at;
  body.expires_at = view.expires_at;
  body.last_used_at = view.last_used_at;
  body.rotated_at = view.rotated_at;
  body.revoked_at = view.revoked_at;
  return body;
}

// Tokens exist only with authentication. Returns false if the call was answered.
bool HasTokens(Api& api, ApiCall& call) {
  if (api.tokens() != nullptr) return true;
  call.Fail(
      Error{ErrorCode::kNotFound, "this server runs without authentication and has no tokens", {}});
  return false;
}

// The tenant whose tokens or entries the caller may access; empty: all tenants.
std::string TenantOf(const ApiCall& call) {
  return call.May(Permission::kTenantAny) ? std::string() : call.tenant();
}

// Returns the token if the caller may change it. Nullopt if the call was answered with an error.
std::optional<TokenView> FindToken(Api& api, ApiCall& call) {
  const std::string& id = call.Parameter("tokenId");
  auto view = api.tokens()->Get(id);
  const bool ours = view && (call.May(Permission::kTenantAny) || view->tenant_id == call.tenant());
  if (!ours) {
    call.Fail(Error{ErrorCode::kNotFound, "there is no token " + id, {}});
    return std::nullopt;
  }
  if (!MayGrant(call.caller().permissions, view->roles)) {
    call.Fail(Error{ErrorCode::kAuthzDenied, "the token has more permissions than the caller", {}});
    return std::nullopt;
  }
  return view;
}

void Text(ApiCall& call, int status, std::string text) {
  call.Reply({status,
              {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}},
              std::move(text)});
}

}  // namespace

Readiness::Answer LookAtServer(Api& api) {
  if (const Status health = api.engine().store().Health(); !health) {
    return {false, std::string(Name(health.error().code)) + "\n"};
  }
  std::error_code error;
  const auto space = std::filesystem::space(api.options().data_directory, error);
  if (!error && space.available < api.options().free_bytes_ready) {
    return {false, "nearly out of disk\n"};
  }
  // The server still accepts work, but the operator should know about its clock.
  constexpr std::chrono::hours kRecent{24};
  const auto alert = api.alerts().Newest("CLOCK_", api.clock().Now() - kRecent);
  return {true, alert ? "ready\nclock: " + alert->detail + "\n" : "ready\n"};
}

void GetLiveness(Api&, CallPtr call) { Text(*call, 200, "ok\n"); }

void GetReadiness(Api& api, CallPtr call) {
  if (api.draining()) return Text(*call, 503, "stopping\n");
  if (api.engine().stopped()) return Text(*call, 503, "the store has stopped\n");
  if (!api.engine().recovered()) return Text(*call, 503, "recovering\n");
  const auto answer = [](ApiCall& to, Readiness::Answer found) {
    Text(to, found.ready ? 200 : 503, std::move(found.text));
  };
  if (auto known = api.readiness().Ask(SteadyNow())) return answer(*call, *std::move(known));
  api.RunOnProbes("readiness", [&api, call, answer] { answer(*call, api.readiness().Look()); });
}

// Anybody may ask for the document, so all answers share it.
void GetOpenApi(Api&, CallPtr call) {
  static const auto plain = std::make_shared<const std::string>(OpenApiDocument());
  static const auto packed = std::make_shared<const std::string>(Gzip(*plain));
  ServerResponse response;
  response.headers = {{"Content-Type", "application/json"},
                      {"Cache-Control", "max-age=300"},
                      {"Vary", "Accept-Encoding"}};
  response.shared_body = plain;
  if (AcceptsGzip(call->request().Header("accept-encoding"))) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.shared_body = packed;
  }
  call->Reply(std::move(response));
}

void GetErrorPage(Api&, CallPtr call) {
  const auto page = ErrorPage(call->Parameter("code"));
  if (!page) return call->Fail(Error{ErrorCode::kNotFound, "there is no such error code", {}});
  call->Reply(
      {200,
       {{"Content-Type", "text/markdown; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}},
       std::string(*page)});
}

void GetMetrics(Api& api, CallPtr call) {
  // With `metrics.open` callers are not authenticated: everybody sees what the operator sees.
  const bool all = api.options().metrics_open || call->May(Permission::kTenantAny);
  call->Reply({200,
               {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
               MetricsText(api, all ? std::string() : call->tenant())});
}

void ListAlerts(Api& api, CallPtr call) {
  AlertBodies list;
  for (RaisedAlert& raised : api.alerts().List()) {
    // Alerts of a tenant are visible to that tenant, alerts of the engine to everybody.
    const Alert& alert = raised.alert;
    const bool theirs = alert.tenant_id.empty() || alert.tenant_id == call->tenant();
    const bool may = call->May(Permission::kTenantAny) || (theirs && !alert.for_operator);
    if (!may) continue;
    list.alerts.push_back({raised.at, std::move(raised.alert)});
  }
  call->Answer(list);
}

void ListAudit(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  AuditQuery wanted;
  wanted.after = static_cast<std::uint64_t>(query.Integer("after", 0, INT64_MAX).value_or(0));
  wanted.limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  wanted.tenant_id = TenantOf(*call);
  const auto page = api.audit().Read(wanted);
  if (!page) return call->Fail(page.error());
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("entries");
  json.BeginArray();
  for (const std::string& entry : page->entries) json.Raw(entry);
  json.EndArray();
  json.Member("nextAfter", page->next_after);
  json.Member("more", page->more);
  if (page->broken > 0) json.Member("broken", page->broken);
  json.EndObject();
  call->Json(200, std::move(text));
}

void ListTokens(Api& api, CallPtr call) {
  if (!HasTokens(api, *call)) return;
  TokenList list;
  for (const TokenView& view : api.tokens()->List(TenantOf(*call))) {
    list.tokens.push_back(BodyOf(view));
  }
  call->Answer(list);
}

void CreateToken(Api& api, CallPtr call) {
  if (!HasTokens(api, *call)) return;
  auto body = call->Read<NewTokenBody>();
  if (!body) return;
  TokenRequest request;
  request.name = std::move(body->name);
  request.tenant_id = body->tenant_id.empty() ? call->tenant() : std::move(body->tenant_id);
  request.expires_at = body->expires_at;
  request.by_operator = call->May(Permission::kTenantAny);
  Error unknown{ErrorCode::kSchemaValidationFailed, "unknown roles", {}};
  for (std::size_t i = 0; i < body->roles.size(); ++i) {
    if (const auto role = RoleFromName(body->roles[i])) {
      request.roles.Add(*role);
    } else {
      unknown.faults.push_back(
          {"/roles/" + std::to_string(i), "is not a role; see docs/security.md"});
    }
  }
  if (!unknown.faults.empty()) return call->Fail(unknown);
  const bool elsewhere = request.tenant_id != call->tenant() && !call->May(Permission::kTenantAny);
  if (elsewhere || !MayGrant(call->caller().permissions, request.roles)) {
    return call->Fail(Error{ErrorCode::kAuthzDenied,
                            "a token cannot have more than the caller's own roles and tenant allow",
                            {}});
  }
  const auto made = api.tokens()->Create(request);
  if (!made) return call->Fail(made.error());
  TokenBody answer = BodyOf(made->view);
  answer.token = made->text;
  call->Json(201, ToWire(answer), {{"Cache-Control", "no-store"}});
}

void RevokeToken(Api& api, CallPtr call) {
  if (!HasTokens(api, *call)) return;
  const auto view = FindToken(api, *call);
  if (!view) return;
  const auto revoked = api.tokens()->Revoke(view->token_id, view->tenant_id);
  if (!revoked) return call->Fail(revoked.error());
  call->Reply({204, {}, {}});
}

void RotateToken(Api& api, CallPtr call) {
  if (!HasTokens(api, *call)) return;
  const auto body = call->Read<RotateBody>();
  if (!body) return;
  const auto view = FindToken(api, *call);
  if (!view) return;
  const auto made = api.tokens()->Rotate(view->token_id, view->tenant_id, body->grace);
  if (!made) return call->Fail(made.error());
  if (!*made)
    return call->Fail(Error{ErrorCode::kNotFound, "the token has expired or was revoked", {}});
  TokenBody answer = BodyOf((*made)->view);
  answer.token = (*made)->text;
  call->Json(200, ToWire(answer), {{"Cache-Control", "no-store"}});
}

}  // namespace everstep
