// API tokens: of a server, or in a data folder that no process has open.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "base/value.h"
#include "client/api_client.h"
#include "commands.h"
#include "data_folder.h"
#include "output.h"
#include "server_access.h"
#include "table.h"
#include "token_folder.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kCreateOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"role", OptionKind::kList, "ROLE", "viewer, operator, engineer, admin …", "", {}, true},
    {"tenant", OptionKind::kText, "ID", "the tenant [default: that of the caller, or default]"},
    {"expires-in", OptionKind::kDuration, "TIME", "how long it is valid [default: forever]"},
};
constexpr OptionSpec kListOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                       kCaFileOption, kOutputOption};
constexpr OptionSpec kRevokeOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                         kCaFileOption};
constexpr OptionSpec kRotateOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"grace", OptionKind::kDuration, "TIME", "how long the old secret stays valid", "1m"},
};

// Carries out `order` on the server or in the data folder; both answer with the same documents.
Result<std::string> Ask(const Arguments& arguments, const TokenOrder& order) {
  auto server = FindServer(arguments);
  if (!server) return std::move(server).error();
  if (!*server) {
    const auto folder = Folder::Find(arguments);
    if (!folder) return folder.error();
    return ChangeTokens(*folder, order);
  }
  if (const Status fit = CheckUrl((*server)->url); !fit) return fit.error();
  ApiClient api(**std::move(server));
  const std::string token = "/v1/tokens/" + EncodeForUrl(order.token_id);
  ApiClient::Call call{.method = "POST", .path = "/v1/tokens", .body = order.body};
  switch (order.action) {
    case TokenOrder::Action::kList:
      return api.Send({.path = "/v1/tokens"});
    case TokenOrder::Action::kRevoke:
      return api.Send({.method = "DELETE", .path = token});
    case TokenOrder::Action::kRotate:
      call.path = token + "/rotate";
      break;
    case TokenOrder::Action::kCreate:
      break;
  }
  return api.Send(call);
}

// Writes only the token to standard output, so that it can be redirected to a file.
ExitCode WriteNew(const Result<std::string>& answer, Output& out) {
  if (!answer) return Fail(answer.error(), out);
  const auto token = ValueFromJson(*answer);
  if (!token) return Fail(token.error(), out);
  out.Write(ToText(token->Get("token")) + "\n");
  out.WriteError("everstep: token " + Printable(ToText(token->Get("tokenId"))) +
                 "; this is the only time it is shown\n");
  return ExitCode::kOk;
}

ExitCode Create(const Arguments& arguments, Output& out) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Member("name", arguments.operands().front());
  if (arguments.Has("tenant")) json.Member("tenantId", arguments.Text("tenant"));
  json.Key("roles");
  json.BeginArray();
  for (const std::string& role : arguments.List("role")) json.String(role);
  json.EndArray();
  if (arguments.Has("expires-in")) {
    json.Member("expiresAt",
                FormatTimestamp(SystemClock().Now() + arguments.Duration("expires-in")));
  }
  json.EndObject();
  return WriteNew(Ask(arguments, {TokenOrder::Action::kCreate, "", body}), out);
}

ExitCode Rotate(const Arguments& arguments, Output& out) {
  const std::string body =
      "{\"graceMs\":" + std::to_string(arguments.Duration("grace").count()) + "}";
  return WriteNew(Ask(arguments, {TokenOrder::Action::kRotate, arguments.operands().front(), body}),
                  out);
}

ExitCode Revoke(const Arguments& arguments, Output& out) {
  const std::string& id = arguments.operands().front();
  const auto answer = Ask(arguments, {TokenOrder::Action::kRevoke, id, ""});
  if (!answer) return Fail(answer.error(), out);
  out.Write(Printable(id) + " is revoked\n");
  return ExitCode::kOk;
}

bool IsSet(const Value& token, std::string_view name) {
  return token.Get(name).kind() != Value::Kind::kUndefined;
}

std::string StateOf(const Value& token) {
  if (IsSet(token, "revokedAt")) return "revoked";
  const auto expires = ParseTimestamp(ToText(token.Get("expiresAt")));
  return expires && *expires <= SystemClock().Now() ? "expired" : "valid";
}

ExitCode List(const Arguments& arguments, Output& out) {
  const auto answer = Ask(arguments, {TokenOrder::Action::kList, "", ""});
  if (!answer) return Fail(answer.error(), out);
  if (const OutputForm form = FormOf(arguments); form != OutputForm::kTable) {
    WriteDocument(form, *answer, out);
    return ExitCode::kOk;
  }
  const auto document = ValueFromJson(*answer);
  if (!document) return Fail(document.error(), out);
  Table table({"TOKEN", "NAME", "TENANT", "ROLES", "STATE", "CREATED", "EXPIRES", "LAST USED"});
  const Value tokens = document->Get("tokens");
  for (const Value& token : tokens.list()) {
    std::string roles;
    const Value names = token.Get("roles");
    for (const Value& role : names.list()) roles += (roles.empty() ? "" : ",") + ToText(role);
    const auto text = [&token](std::string_view name) {
      return IsSet(token, name) ? ToText(token.Get(name)) : std::string("-");
    };
    table.Add({text("tokenId"), text("name"), text("tenantId"), roles, StateOf(token),
               text("createdAt"), text("expiresAt"), text("lastUsedAt")});
  }
  out.Write(table.TakeText(out.look()));
  return ExitCode::kOk;
}

constexpr std::string_view kWhere =
    "With --server the server does this, if the calling token may. Without it, the command works\n"
    "on the data folder, which no process may have open.";

}  // namespace

const Command kTokenCreate{
    "token create", "NAME",         1,      1, "Create an API token and print it, once.",
    kWhere,         kCreateOptions, Create,
};
const Command kTokenList{
    "token list", "", 0, 0, "List API tokens, never their secrets.", kWhere, kListOptions, List,
};
const Command kTokenRevoke{
    "token revoke", "ID", 1, 1, "Revoke an API token.", kWhere, kRevokeOptions, Revoke,
};
const Command kTokenRotate{
    "token rotate", "ID",           1,      1, "Give an API token a new secret and print it, once.",
    kWhere,         kRotateOptions, Rotate,
};

}  // namespace everstep::cli
