#include "token_folder.h"

#include <filesystem>
#include <memory>
#include <optional>

#include "actor.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/value.h"
#include "serve/access_tokens.h"
#include "serve/audit_log.h"

namespace everstep::cli {
namespace {

Error Misused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), {}}; }
Error NotFound(std::string message) { return {ErrorCode::kNotFound, std::move(message), {}}; }

bool IsSet(const Value& body, std::string_view name) {
  return body.Get(name).kind() != Value::Kind::kUndefined;
}

void Write(const TokenView& view, const std::string& text, JsonWriter& json) {
  json.BeginObject();
  json.Member("tokenId", view.token_id);
  json.Member("name", view.name);
  json.Member("tenantId", view.tenant_id);
  json.Key("roles");
  json.BeginArray();
  for (const RoleRule& rule : RoleRules()) {
    if (view.roles.Has(rule.role)) json.String(rule.name);
  }
  json.EndArray();
  json.Member("createdAt", FormatTimestamp(view.created_at));
  const auto moment = [&json](std::string_view name, const std::optional<Timestamp>& at) {
    if (at) json.Member(name, FormatTimestamp(*at));
  };
  moment("expiresAt", view.expires_at);
  moment("lastUsedAt", view.last_used_at);
  moment("rotatedAt", view.rotated_at);
  moment("revokedAt", view.revoked_at);
  if (!text.empty()) json.Member("token", text);
  json.EndObject();
}

Result<TokenRequest> RequestOf(const Value& body) {
  TokenRequest request;
  request.by_operator = true;  // whoever can write the folder is the operator
  request.name = ToText(body.Get("name"));
  request.tenant_id = IsSet(body, "tenantId") ? ToText(body.Get("tenantId")) : "default";
  const Value roles = body.Get("roles");
  for (const Value& name : roles.list()) {
    const auto role = RoleFromName(ToText(name));
    if (!role) return Misused("unknown role '" + ToText(name) + "'; see docs/security.md");
    request.roles.Add(*role);
  }
  if (IsSet(body, "expiresAt")) request.expires_at = ParseTimestamp(ToText(body.Get("expiresAt")));
  return request;
}

class OfflineTokens {
 public:
  OfflineTokens(AccessTokens& tokens, AuditLog& audit) : tokens_(tokens), audit_(audit) {}

  Result<std::string> Execute(const TokenOrder& order) {
    const auto body = ValueFromJson(order.body.empty() ? "{}" : order.body);
    if (!body) return body.error();
    switch (order.action) {
      case TokenOrder::Action::kList:
        return List();
      case TokenOrder::Action::kCreate:
        return Create(*body);
      case TokenOrder::Action::kRevoke:
        return Revoke(order.token_id);
      case TokenOrder::Action::kRotate:
        return Rotate(order.token_id, std::chrono::milliseconds(body->Get("graceMs").int_value()));
    }
    return std::string();
  }

 private:
  std::string List() const {
    std::string text;
    JsonWriter json(text);
    json.BeginObject();
    json.Key("tokens");
    json.BeginArray();
    for (const TokenView& view : tokens_.List("")) Write(view, "", json);
    json.EndArray();
    json.EndObject();
    return text;
  }

  Result<std::string> Create(const Value& body) {
    const auto request = RequestOf(body);
    if (!request) return request.error();
    const auto made = tokens_.Create(*request);
    if (!made) return made.error();
    return Recorded("createToken", *made);
  }

  Result<std::string> Rotate(const std::string& id, std::chrono::milliseconds grace) {
    const auto view = Find(id);
    if (!view) return view.error();
    const auto made = tokens_.Rotate(id, view->tenant_id, grace);
    if (!made) return made.error();
    if (!*made) return NotFound("the token " + id + " has ended");
    return Recorded("rotateToken", **made);
  }

  Result<std::string> Revoke(const std::string& id) {
    const auto view = Find(id);
    if (!view) return view.error();
    const auto revoked = tokens_.Revoke(id, view->tenant_id);
    if (!revoked) return revoked.error();
    if (const Status noted = Note("revokeToken", *view); !noted) return noted.error();
    return std::string();
  }

  Result<TokenView> Find(const std::string& id) const {
    auto view = tokens_.Get(id);
    if (!view) return NotFound("there is no token " + id + "; see 'everstep token list'");
    return *std::move(view);
  }

  Result<std::string> Recorded(const char* action, const NewToken& made) {
    if (const Status noted = Note(action, made.view); !noted) return noted.error();
    std::string text;
    JsonWriter json(text);
    Write(made.view, made.text, json);
    return text;
  }

  Status Note(const char* action, const TokenView& view) {
    AuditEntry entry;
    entry.actor = LocalActor("Admin").id;
    entry.tenant_id = view.tenant_id;
    entry.action = action;
    entry.detail = "on this machine, token " + view.token_id;
    const auto noted = audit_.Append(entry);
    return noted ? audit_.Sync() : Status(noted.error());
  }

  AccessTokens& tokens_;
  AuditLog& audit_;
};

}  // namespace

Result<std::string> ChangeTokens(const Folder& folder, const TokenOrder& order) {
  if (const Status made = folder.Make(); !made) return made.error();
  auto owned = folder.Own();
  if (!owned) {
    Error error = std::move(owned).error();
    if (error.code == ErrorCode::kStoreLocked) error.message += "; use --server URL";
    return error;
  }
  // A new file would hide the loss from the server and from doctor.
  if (AccessTokens::HasLostFile(folder.path())) {
    return Error{ErrorCode::kStoreNotFound,
                 folder.path() +
                     "/tokens.json is missing, but the folder had API tokens; restore it from a "
                     "backup, or start the server, which begins with a new admin token",
                 {}};
  }
  auto tokens = AccessTokens::Open(folder.path(), SystemClock(), SystemRandom());
  if (!tokens) return std::move(tokens).error();
  auto audit = AuditLog::Open(folder.path(), SystemClock(), SystemRandom());
  if (!audit) return std::move(audit).error();
  return OfflineTokens(**tokens, **audit).Execute(order);
}

}  // namespace everstep::cli
