#include "testing/server_workbench.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "base/assert.h"
#include "base/json.h"

namespace everstep {

std::string ServerReply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Value ServerReply::Json() const {
  const auto value = ValueFromJson(body);
  return value ? *value : Value();
}

std::string ServerReply::Text(std::string_view member) const {
  const Value document = Json();
  if (document.kind() != Value::Kind::kMap) return {};
  const Value value = document.Get(member);
  return value.undefined() ? std::string() : ToText(value);
}

std::string ServerReply::Comparable() const {
  std::string text = std::to_string(status) + "\n";
  for (const auto& [name, value] : headers) {
    if (name != "date") text += name + ": " + value + "\n";
  }
  std::string rest = body;
  const std::string mark = "\"traceId\":\"";
  if (const std::size_t at = rest.find(mark); at != std::string::npos) {
    const std::size_t from = at + mark.size();
    rest.erase(from, rest.find('"', from) - from);
  }
  return text + rest;
}

std::string RequestText(const ServerWorkbench::Request& request) {
  std::string text = request.method + " " + request.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  for (const auto& [name, value] : request.headers) text += name + ": " + value + "\r\n";
  if (!request.token.empty()) text += "Authorization: Bearer " + request.token + "\r\n";
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return text + "\r\n" + request.body;
}

ServerWorkbench::ServerWorkbench(ServerOptions options) : options_(std::move(options)) {
  options_.http.listen = {"127.0.0.1:0"};
  options_.data_directory = directory_.path();
  options_.engine.log.directory = directory_ / "store";
  if (options_.engine.lanes == 0) options_.engine.lanes = 1;
  Start();
}

void ServerWorkbench::Start() {
  auto server = Server::Start(options_);
  EXPECT_TRUE(server) << (server ? "" : ToString(server.error()));
  EVERSTEP_ASSERT(server.has_value());
  server_ = *std::move(server);
  connection_.reset();
  if (!options_.authentication) return;
  std::ifstream file(directory_ / "admin-token");
  std::getline(file, admin_);
}

void ServerWorkbench::Restart() {
  server_.reset();
  Start();
}

void ServerWorkbench::Restart(ServerOptions options) {
  options.http.listen = options_.http.listen;
  options.data_directory = options_.data_directory;
  options.engine.log.directory = options_.engine.log.directory;
  options_ = std::move(options);
  Restart();
}

std::string ServerWorkbench::Token(const std::string& tenant, const std::string& role) {
  std::string& token = tokens_[tenant + "/" + role];
  if (!token.empty()) return token;
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Member("name", role + " of " + tenant);
  json.Member("tenantId", tenant);
  json.RawMember("roles", "[" + JsonQuote(role) + "]");
  json.EndObject();
  const ServerReply reply = Post(admin_, "/v1/tokens", body);
  EXPECT_EQ(reply.status, 201) << reply.body;
  token = reply.Text("token");
  return token;
}

ServerReply ServerWorkbench::Send(const Request& request) {
  if (!connection_) connection_.emplace(Connect());
  ServerReply reply;
  if (connection_->Send(RequestText(request))) {
    SocketClient::Answer answer = connection_->ReadAnswer(request.method == "HEAD");
    reply = {answer.status, std::move(answer.headers), std::move(answer.body)};
    if (!answer.whole) reply.status = -reply.status;
  }
  if (reply.status <= 0 || reply.Header("connection") == "close") connection_.reset();
  return reply;
}

ServerReply ServerWorkbench::Get(const std::string& token, const std::string& path,
                                 HttpHeaders headers) {
  return Send({.path = path, .headers = std::move(headers), .token = token});
}

ServerReply ServerWorkbench::Post(const std::string& token, const std::string& path,
                                  const std::string& body, HttpHeaders headers) {
  return Send({.method = "POST",
               .path = path,
               .body = body,
               .headers = std::move(headers),
               .token = token});
}

std::string ServerWorkbench::StartRun(const std::string& token, const std::string& plan,
                                      const std::string& inputs) {
  std::string body = "{\"plan\":" + JsonQuote(plan);
  if (!inputs.empty()) body += ",\"inputs\":" + inputs;
  const ServerReply reply = Post(token, "/v1/runs", body + "}");
  EXPECT_EQ(reply.status, 201) << reply.body;
  return reply.Text("runId");
}

std::string ServerWorkbench::EndOf(const std::string& token, const std::string& run_id) {
  const ServerReply reply = Get(token, "/v1/runs/" + run_id + "?wait=9s");
  EXPECT_EQ(reply.status, 200) << reply.body;
  return reply.Text("status");
}

std::string ServerWorkbench::RegisterWorker(const std::string& token, const std::string& kind,
                                            int slots) {
  const ServerReply reply =
      Post(token, "/v1/workers",
           "{\"kinds\":[" + JsonQuote(kind) + "],\"slots\":" + std::to_string(slots) + "}");
  EXPECT_EQ(reply.status, 201) << reply.body;
  return reply.Text("workerId");
}

}  // namespace everstep
