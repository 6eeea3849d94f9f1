#include "bench/fairness_bench.h"

#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "bench/load_client.h"
#include "bench/serve_parts.h"
#include "net/content_coding.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kHostileConnections = 16;
constexpr double kSecondsEach = 2;
constexpr double kDelayMostMs = 100;
constexpr const char* kSmallPlan =
    "metadata: {planId: small, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n";

std::string Text(const std::string& token, const Ask& ask, std::string_view accept = {}) {
  const std::string body = ask.packed ? Gzip(ask.body) : ask.body;
  std::string text = ask.method + " " + ask.target +
                     " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                     "\r\nContent-Type: " + ask.type;
  if (ask.packed) text += "\r\nContent-Encoding: gzip";
  if (!accept.empty()) text.append("\r\nAccept: ").append(accept);
  return text + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

std::string Repeated(std::string_view piece, std::size_t count) {
  std::string text;
  text.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::string StartOf(const std::string& plan) { return R"({"plan":)" + JsonQuote(plan) + "}"; }

// ---- a client

bool PatientClient::Send(std::string_view request) {
  while (!request.empty()) {
    const ssize_t sent = ::send(fd_.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;  // the server may answer before the end of the body
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int PatientClient::Call(const std::string& request) {
  if (!fd_) fd_ = ConnectTo(address_);
  if (!fd_) return 0;
  const bool whole = Send(request);
  const int status = ReadAnswer();
  if (status == 0 || closes_ || !whole) fd_ = UniqueFd();
  return status;
}

UniqueFd PatientClient::Leave(const std::string& request) {
  fd_ = ConnectTo(address_);
  if (fd_ && (!Send(request) || !Receive())) fd_ = UniqueFd();
  return std::move(fd_);
}

bool PatientClient::Receive() {
  char buffer[64 << 10];
  const ssize_t count = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
  if (count > 0) input_.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

int PatientClient::ReadAnswer() {
  input_.clear();
  std::size_t head = 0;
  while ((head = input_.find("\r\n\r\n")) == std::string::npos) {
    if (!Receive()) return 0;
  }
  const std::string_view text(input_.data(), head);
  closes_ = text.find("\r\nConnection: close") != std::string_view::npos;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  std::size_t length = 0;
  if (const std::size_t at = text.find(kLength); at != std::string_view::npos) {
    std::from_chars(text.data() + at + kLength.size(), text.data() + head, length);
  }
  int status = 0;
  std::from_chars(text.data() + 9, text.data() + 12, status);
  while (input_.size() < head + 4 + length) {
    if (!Receive()) return 0;
  }
  input_.erase(0, head + 4);
  return status;
}

// ---- the bench

FairnessBench::FairnessBench(BenchReport& report)
    : report_(report), server_(BenchServer::Access::kTokens), admin_(server_.address()) {
  hostile_ = Token("hostile");
  other_ = Token("other");
}

std::string FairnessBench::Token(const std::string& tenant) {
  const int status =
      admin_.Call(Text(server_.admin_token(),
                       {"POST", "/v1/tokens",
                        R"({"name":")" + tenant + R"(","tenantId":")" + tenant +
                            R"(","roles":["tenant-admin","system","engineer","operator"]})"}));
  EVERSTEP_ASSERT(status == 201);
  std::string token(RawMember(admin_.body(), "token").value_or(""));
  return token.substr(1, token.size() - 2);
}

void FairnessBench::Measure(const std::string& name, const std::vector<Ask>& asks) {
  std::vector<std::string> texts;
  for (const Ask& ask : asks) texts.push_back(Text(hostile_, ask));
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kHostileConnections; ++i) {
    threads.emplace_back([&, i] {
      PatientClient client(server_.address());
      for (std::size_t n = i; !over.load(); ++n) (void)client.Call(texts[n % texts.size()]);
    });
  }
  std::vector<double> probes;
  std::vector<double> calls;
  std::thread prober(
      [&] { Time({"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"}, over, probes); });
  std::thread caller([&] {
    Time({Text(other_, {"GET", "/v1/runs?limit=1"}), Text(other_, {"GET", "/v1/counts"}),
          Text(other_, {"POST", "/v1/events", R"([{"eventType":"RunStarted","runId":"same"}])"}),
          Text(other_, {"POST", "/v1/plans/check", kSmallPlan, "application/yaml"}),
          Text(other_, {"POST", "/v1/runs", StartOf(kSmallPlan)})},
         over, calls);
  });
  std::promise<void> never;
  (void)never.get_future().wait_for(std::chrono::duration<double>(kSecondsEach));
  over = true;
  prober.join();
  caller.join();
  for (std::thread& thread : threads) thread.join();
  report_.AtMost(name + ": /livez, worst", Quantile(probes, 1.0), "ms", kDelayMostMs);
  report_.AtMost(name + ": other tenant, p99", Quantile(calls, 0.99), "ms", kDelayMostMs);
  report_.AtMost(name + ": other tenant, worst", Quantile(calls, 1.0), "ms", kDelayMostMs);
  report_.Add(name + ": server, resident", server_.ResidentMegabytes(), "MB");
}

void FairnessBench::Time(const std::vector<std::string>& requests, const std::atomic<bool>& over,
                         std::vector<double>& milliseconds) const {
  PatientClient client(server_.address());
  for (std::size_t n = 0; !over.load(); ++n) {
    const double begun = WallSeconds();
    const int status = client.Call(requests[n % requests.size()]);
    EVERSTEP_ASSERT(status / 100 == 2);
    milliseconds.push_back((WallSeconds() - begun) * 1e3);
  }
}

int FairnessBench::Try(const Ask& ask) { return admin_.Call(Text(hostile_, ask)); }

const std::string& FairnessBench::Prepare(const Ask& ask, int expected) {
  const int status = Try(ask);
  if (status != expected) std::fprintf(stderr, "everstep: %s\n", admin_.body().c_str());
  EVERSTEP_ASSERT(status == expected);
  return admin_.body();
}

bool FairnessBench::Follow(const std::string& target) {
  UniqueFd stream =
      PatientClient(server_.address()).Leave(Text(hostile_, {"GET", target}, "text/event-stream"));
  if (!stream) return false;
  followers_.push_back(std::move(stream));
  return true;
}

void ServeFairness(BenchReport& report) {
  FairnessBench bench(report);
  bench.Measure("nothing else", {{"GET", "/v1/counts"}});
  AttackWithRequests(bench);
  AttackWithRuns(bench);
}

}  // namespace everstep::cli
