// One tenant sends the most expensive requests; meanwhile the latency of cheap requests of another
// tenant and of a probe is measured.

#include <sys/socket.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "base/cbor.h"
#include "base/json.h"
#include "bench/bench_child.h"
#include "bench/load_client.h"
#include "bench/serve_parts.h"
#include "net/content_coding.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kHostileConnections = 16;
constexpr double kSecondsEach = 2;
constexpr std::size_t kRunIdBytes = 31;
constexpr double kDelayMostMs = 100;

// A client that connects again if the server closes its connection.
class PatientClient {
 public:
  explicit PatientClient(std::string address) : address_(std::move(address)) {}

  // Returns the status of the answer, or 0 if the connection was closed instead.
  int Call(const std::string& request) {
    if (!fd_) fd_ = ConnectTo(address_);
    if (!fd_) return 0;
    std::string_view rest = request;
    while (!rest.empty()) {
      const ssize_t sent = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;  // the server may answer before the end of the body
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    const int status = ReadAnswer();
    if (status == 0 || closes_ || !rest.empty()) fd_ = UniqueFd();
    return status;
  }
  const std::string& body() const { return input_; }

 private:
  bool Receive() {
    char buffer[64 << 10];
    const ssize_t count = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (count > 0) input_.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  int ReadAnswer() {
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

  const std::string address_;
  UniqueFd fd_;
  std::string input_;
  bool closes_ = false;
};

struct Ask {
  std::string method = "POST";
  std::string target{};
  std::string body{};
  std::string type = "application/json";
  bool packed = false;
};

std::string Text(const std::string& token, const Ask& ask) {
  const std::string body = ask.packed ? Gzip(ask.body) : ask.body;
  return ask.method + " " + ask.target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
         token + "\r\nContent-Type: " + ask.type +
         (ask.packed ? "\r\nContent-Encoding: gzip" : "") +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string Repeated(std::string_view piece, std::size_t count) {
  std::string text;
  text.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::string StartOf(const std::string& plan) { return R"({"plan":)" + JsonQuote(plan) + "}"; }

class FairnessBench {
 public:
  explicit FairnessBench(BenchReport& report)
      : report_(report), server_(BenchServer::Access::kTokens), admin_(server_.address()) {
    hostile_ = Token("hostile");
    other_ = Token("other");
  }

  // Measures while `asks` are sent repeatedly on many connections.
  void Measure(const std::string& name, std::vector<Ask> asks) {
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

  // Sends a request before a measurement. Returns the body of the answer; aborts on another status.
  const std::string& Prepare(const Ask& ask, int expected) {
    const int status = admin_.Call(Text(hostile_, ask));
    if (status != expected) std::fprintf(stderr, "everstep: %s\n", admin_.body().c_str());
    EVERSTEP_ASSERT(status == expected);
    return admin_.body();
  }

 private:
  static constexpr const char* kSmallPlan =
      "metadata: {planId: small, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n";

  std::string Token(const std::string& tenant) {
    const int status =
        admin_.Call(Text(server_.admin_token(),
                         {"POST", "/v1/tokens",
                          R"({"name":")" + tenant + R"(","tenantId":")" + tenant +
                              R"(","roles":["tenant-admin","system","engineer","operator"]})"}));
    EVERSTEP_ASSERT(status == 201);
    std::string token(RawMember(admin_.body(), "token").value_or(""));
    return token.substr(1, token.size() - 2);
  }

  void Time(const std::vector<std::string>& requests, const std::atomic<bool>& over,
            std::vector<double>& milliseconds) const {
    PatientClient client(server_.address());
    for (std::size_t n = 0; !over.load(); ++n) {
      const double begun = WallSeconds();
      const int status = client.Call(requests[n % requests.size()]);
      EVERSTEP_ASSERT(status / 100 == 2);
      milliseconds.push_back((WallSeconds() - begun) * 1e3);
    }
  }

  BenchReport& report_;
  BenchServer server_;
  PatientClient admin_;
  std::string hostile_;
  std::string other_;
};

Ask YamlAliases() {
  return {"POST", "/v1/plans/check",
          "a: &a " + std::string(100'000, 'x') + "\nb:\n" + Repeated("- *a\n", 90'000),
          "application/yaml"};
}

Ask LargePlan() {
  std::string plan = "metadata: {planId: large, planVersion: '1'}\nsteps:\n";
  std::string before;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = "s" + std::to_string(i);
    plan += "- {stepId: " + id + ", kind: noop, dependsOn: [" + before + "]}\n";
    before = i < 40 ? before + (before.empty() ? "" : ", ") + id : before;
  }
  return {"POST", "/v1/plans/check", plan, "application/yaml"};
}

std::string CborOf(const std::function<void(CborWriter&)>& write) {
  std::string bytes;
  CborWriter cbor(bytes);
  write(cbor);
  return bytes;
}

Ask CborNulls(bool packed, std::size_t count) {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Key("calls");
    cbor.ArrayOf(count);
    for (std::size_t i = 0; i < count; ++i) cbor.Null();
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor", packed};
}

void WriteCall(CborWriter& cbor, std::string_view type, const std::string& run,
               const std::string& id, const std::function<void()>& data) {
  cbor.BeginMap();
  cbor.Member("m", "events.create");
  cbor.Member("type", type);
  cbor.Member("runId", run);
  if (!id.empty()) cbor.Member("correlationId", id);
  cbor.Key("data");
  cbor.BeginMap();
  data();
  cbor.End();
  cbor.End();
}

// A thousand attr_set calls for one run.
Ask Attributes(const std::string& run) {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Member("spec", std::uint64_t{5});
    cbor.Key("calls");
    cbor.ArrayOf(1'000);
    for (int i = 0; i < 1'000; ++i) {
      WriteCall(cbor, "attr_set", run, "attr-" + std::to_string(i), [&] {
        cbor.Key("changes");
        cbor.ArrayOf(1);
        cbor.BeginMap();
        cbor.Member("key", "k" + std::to_string(i % 60));
        cbor.Member("value", std::to_string(i));
        cbor.End();
      });
    }
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor"};
}

Ask NewRun() {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Member("spec", std::uint64_t{5});
    cbor.Key("calls");
    cbor.ArrayOf(1);
    WriteCall(cbor, "run_created", "", "", [&] {
      cbor.Member("deploymentId", "d");
      cbor.Member("workflowName", "w");
      cbor.Key("input");
      cbor.Bytes("x");
    });
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor"};
}

// Ten expressions that each take as many operations as one expression may.
std::string CostlyInputs() {
  std::string inputs = "{";
  for (char name = 'a'; name <= 'j'; ++name) {
    inputs += std::string(1, name) + ": '{{ (range(20000) | sum) + (range(20000) | sum) }}', ";
  }
  return inputs + "}";
}

// Every step of every run occupies a lane for as long as a step can.
Ask StepInputs() {
  std::string plan = "metadata: {planId: costly, planVersion: '1'}\nsteps:\n";
  for (int i = 0; i < 50; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", kind: echo, inputs: " + CostlyInputs() + "}\n";
  }
  return {"POST", "/v1/runs", StartOf(plan)};
}

// A large result that is referenced very often.
Ask LargeResults() {
  std::string plan =
      "metadata: {planId: results, planVersion: '1'}\n"
      "inputs: {text: {type: string}}\nsteps:\n"
      "- {stepId: a, kind: echo, inputs: {list: '{{ range(20000) }}', map: {x: 1}}}\n";
  for (int i = 0; i < 20; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", kind: noop, dependsOn: [a], inputs: {v: [" +
            Repeated("'{{ steps.a.result.map.x }}',", 200) + "]}}\n";
  }
  return {"POST", "/v1/runs", StartOf(plan)};
}

// Events with as much text as a batch may have.
Ask LargeEvents() {
  std::string body = "[";
  for (int i = 0; i < 600; ++i) {
    body += (i > 0 ? "," : "") + std::string(R"({"eventType":"RunStarted","runId":"large-)") +
            std::to_string(i) + R"(","payload":{"text":")" + std::string(50'000, 'x') + "\"}}";
  }
  return {"POST", "/v1/events", body + "]"};
}

Ask CostlyKey() {
  return {"POST", "/v1/runs",
          StartOf("metadata: {planId: key, planVersion: '1'}\nconcurrencyKey: '" +
                  Repeated("{{ (range(20000) | sum) + (range(20000) | sum) }}", 10) +
                  "'\nsteps: [{stepId: a, kind: noop}]\n")};
}

std::string ManyRuns() {
  std::string body = "[";
  for (int i = 0; i < 9'000; ++i) {
    body += (i > 0 ? "," : "") + std::string(R"({"eventType":"RunStarted","runId":"many-)") +
            std::to_string(i) + "\"}";
  }
  return body + "]";
}

Ask HeavyEvents() {
  std::string body = "[";
  for (int i = 0; i < 100; ++i) {
    body += (i > 0 ? "," : "") +
            std::string(R"({"specversion":"1.0","source":"/s","type":"t","data":{},"id":")") +
            std::to_string(i) + "\"}";
  }
  return {"POST", "/v1/inbound", body + "]", "application/cloudevents-batch+json"};
}

}  // namespace

void ServeFairness(BenchReport& report) {
  FairnessBench bench(report);
  bench.Measure("nothing else", {{"GET", "/v1/counts"}});
  bench.Measure("YAML aliases", {YamlAliases()});
  bench.Measure("large plans", {LargePlan()});
  bench.Measure(
      "packed JSON",
      {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 10'000'000) + "1]}",
        "application/json", true},
       {"POST", "/v1/runs", "{\"plan\":[" + Repeated("{},", 2'700'000), "application/json", true}});
  bench.Measure("dense JSON",
                {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 300'000)},
                 {"POST", "/v1/runs", "{\"inputs\":[" + Repeated("{},", 300'000)}});
  bench.Measure("small dense JSON",
                {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 20'000)}});
  bench.Measure("packed CBOR", {CborNulls(true, 30'000'000)});
  bench.Measure("dense CBOR", {CborNulls(false, 900'000)});
  const std::string& made = bench.Prepare(NewRun(), 200);
  const std::size_t id = made.find("wrun_");
  EVERSTEP_ASSERT(id != std::string::npos);
  const std::string run = made.substr(id, kRunIdBytes);
  bench.Measure("attr_set", {Attributes(run)});
  for (int i = 0; i < 100; ++i) {
    bench.Prepare({"PUT", "/v1/inbound/rules/r" + std::to_string(i),
                   R"({"types":["t"],"when":"range(20000) | sum < 0","deliver":{"token":"x"}})"},
                  201);
  }
  bench.Measure("inbound rules", {HeavyEvents()});
  bench.Measure("large batches",
                {{"POST", "/v1/events", ManyRuns()},
                 {"POST", "/v1/events", "[" + Repeated("1,", 9'000) + "1]"},
                 {"POST", "/v1/events", "[" + Repeated("[[[[]]]],", 3'000'000)},
                 {"POST", "/v1/events", Repeated("\n", 30'000'000), "application/x-ndjson"}});
  bench.Measure("large events", {LargeEvents()});
  bench.Measure("concurrency keys", {CostlyKey()});
  bench.Measure("lists", {{"GET", "/v1/runs?limit=1000&errorCode=NONE"},
                          {"GET", "/v1/events?limit=1000"},
                          {"GET", "/v1/runs/" + run + "/events?limit=1000"}});
  // Last, because these runs continue after the measurement.
  bench.Measure("large results", {LargeResults()});
  bench.Measure("step inputs", {StepInputs()});
}

}  // namespace everstep::cli
