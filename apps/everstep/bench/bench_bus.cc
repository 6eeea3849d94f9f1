// The event bus: how fast events are delivered to sinks, and what an unreachable sink costs.

#include <nats/nats.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>

#include "base/assert.h"
#include "base/random.h"
#include "bench/bench_child.h"
#include "bench/load_client.h"
#include "bench/report.h"
#include "bench/serve_parts.h"
#include "commands.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "output.h"
#include "work/secret_file.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kParts[] = {"all", "webhook", "nats", "dead"};

constexpr OptionSpec kOptions[] = {
    {"only", OptionKind::kWord, "PART", "all, webhook, nats or dead", "all", kParts, false},
    {"events", OptionKind::kCount, "N", "events to deliver", "100000", {}, false},
    {"rounds", OptionKind::kCount, "N", "rounds of the part dead", "3", {}, false},
    {"nats-server", OptionKind::kText, "PROGRAM", "for the part nats", "nats-server", {}, false},
    {"json", OptionKind::kText, "FILE", "add the results to this JSON array", "", {}, false},
};

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

void MakeSecret(const BenchServer& server) {
  const std::string path = server.data() + "/secrets";
  std::ofstream(path + ".key", std::ios::binary) << std::string(32, 'k');
  SecretFile file(path, *SecretFileKey::FromFile(path + ".key"), SystemRandom());
  EVERSTEP_ASSERT(file.Set(SecretOwner::Tenant("default"), "hook", kSecret).has_value());
}

void PutSink(const BenchServer& server, const std::string& body) {
  HttpClient client(AddressPolicy{.allow_private = true});
  HttpRequest request;
  request.method = "PUT";
  request.url = "http://" + server.address() + "/v1/sinks/bench";
  request.body = body;
  const HttpOutcome outcome = client.SendAndWait(std::move(request));
  if (outcome.response.status != 201) {
    std::fprintf(stderr, "%s\n", outcome.response.body.c_str());
  }
  EVERSTEP_ASSERT(outcome.response.status == 201);
}

std::string WebhookSink(const std::string& address) {
  return R"({"kind":"webhook","from":"beginning","webhook":{"url":"http://)" + address +
         R"(/","secrets":["secret:hook"]}})";
}

// Receives webhooks and counts the events in them.
class Receiver final : public HttpHandler {
 public:
  Receiver() {
    HttpServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto server = HttpServer::Start(options, *this);
    EVERSTEP_ASSERT(server.has_value());
    server_ = *std::move(server);
  }
  std::string address() const { return server_->addresses().front(); }

  void Handle(HttpCall call) override {
    std::size_t events = 0;
    const std::string& body = call.request().body;
    for (std::size_t at = 0; (at = body.find("\"eventId\":", at)) != std::string::npos; ++at) {
      ++events;
    }
    call.Reply({204, {}, {}});
    const std::lock_guard lock(mutex_);
    count_ += events;
    changed_.notify_all();
  }
  BodyTerms TermsOfBody(const ServerRequest&) override { return {.bytes_max = 16 << 20}; }
  void WaitFor(std::size_t events) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= events; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
  std::unique_ptr<HttpServer> server_;
};

void Webhook(std::size_t events, BenchReport& report) {
  const BenchServer server;
  MakeSecret(server);
  const AppendedBatches appended = AppendInBatches(server, events, 0);
  Receiver receiver;
  const double cpu = server.CpuSeconds();
  const double begin = WallSeconds();
  PutSink(server, WebhookSink(receiver.address()));
  receiver.WaitFor(appended.events);
  const double wall = WallSeconds() - begin;
  const auto count = static_cast<double>(appended.events);
  report.AtLeast("signed webhooks, batches of 100", count / wall, "events/s", 20'000);
  report.Add("server CPU", (server.CpuSeconds() - cpu) / count * 1e6, "µs/event");
}

// A private NATS server with a stream for all events.
class Broker {
 public:
  explicit Broker(const std::string& program) {
    ChildProgram child;
    constexpr std::string_view kPlaces = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";
    child.path = FindProgram(program, kPlaces, "");
    child.arguments = {
        program,       "--addr",      "127.0.0.1",    "--port", std::to_string(kPort),
        "--jetstream", "--store_dir", folder_.path(), "--log",  "/dev/null"};
    int reason = 0;
    auto process = ChildProcess::Start(child, reason);
    EVERSTEP_ASSERT(process.has_value());
    process_ = std::make_unique<ChildProcess>(*std::move(process));
    natsOptions* options = nullptr;
    EVERSTEP_ASSERT(natsOptions_Create(&options) == NATS_OK);
    natsOptions_SetURL(options, url().c_str());
    natsOptions_SetRetryOnFailedConnect(options, true, nullptr, nullptr);
    natsOptions_SetMaxReconnect(options, 500);
    natsOptions_SetReconnectWait(options, 20);
    EVERSTEP_ASSERT(natsConnection_Connect(&connection_, options) == NATS_OK);
    natsOptions_Destroy(options);
    EVERSTEP_ASSERT(natsConnection_JetStream(&stream_, connection_, nullptr) == NATS_OK);
    jsStreamConfig config;
    EVERSTEP_ASSERT(jsStreamConfig_Init(&config) == NATS_OK);
    const char* subjects[] = {"everstep.events.>"};
    config.Name = "EVENTS";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    EVERSTEP_ASSERT(js_AddStream(nullptr, stream_, &config, nullptr, nullptr) == NATS_OK);
  }
  ~Broker() {
    jsCtx_Destroy(stream_);
    natsConnection_Destroy(connection_);
  }
  static std::string url() { return "nats://127.0.0.1:" + std::to_string(kPort); }
  std::size_t Messages() const {
    jsStreamInfo* info = nullptr;
    EVERSTEP_ASSERT(js_GetStreamInfo(&info, stream_, "EVENTS", nullptr, nullptr) == NATS_OK);
    const auto count = static_cast<std::size_t>(info->State.Msgs);
    jsStreamInfo_Destroy(info);
    return count;
  }

 private:
  static constexpr int kPort = 14'722;
  ScratchDirectory folder_;
  std::unique_ptr<ChildProcess> process_;
  natsConnection* connection_ = nullptr;
  jsCtx* stream_ = nullptr;
};

void Nats(std::size_t events, const std::string& program, BenchReport& report) {
  const BenchServer server;
  const AppendedBatches appended = AppendInBatches(server, events, 0);
  const Broker broker(program);
  const double cpu = server.CpuSeconds();
  const double begin = WallSeconds();
  PutSink(server,
          R"({"kind":"nats","from":"beginning","nats":{"servers":[")" + Broker::url() + R"("]}})");
  while (broker.Messages() < appended.events) nats_Sleep(5);
  const double wall = WallSeconds() - begin;
  const auto count = static_cast<double>(appended.events);
  report.AtLeast("NATS JetStream, each event acknowledged", count / wall, "events/s", 20'000);
  report.Add("server CPU", (server.CpuSeconds() - cpu) / count * 1e6, "µs/event");
}

// The servers take turns, so that load on the machine affects both.
void Dead(std::size_t events, std::size_t rounds, BenchReport& report) {
  const BenchServer without;
  const BenchServer with;
  MakeSecret(with);
  PutSink(with, WebhookSink("127.0.0.1:9"));
  double seconds[2] = {0, 0};
  std::size_t first[2] = {0, 0};
  std::size_t done = 0;
  for (std::size_t round = 0; round < 2 * rounds; ++round) {
    const std::size_t which = (round + round / 2) % 2;
    const AppendedBatches appended =
        AppendInBatches(which == 0 ? without : with, events, first[which]);
    first[which] += appended.runs;
    seconds[which] += appended.seconds;
    done = first[0] * Workload::kEventsPerRun;
  }
  const auto count = static_cast<double>(done);
  report.Add("appends in batches of 100, no sink", count / seconds[0], "events/s");
  report.Add("the same with a sink that is down", count / seconds[1], "events/s");
  report.AtLeast("with / without", seconds[0] / seconds[1] * 100, "%", 90);
}

ExitCode Run(const Arguments& arguments, Output& out) {
  std::vector<BenchReport> reports;
  const auto measure = [&](std::string_view part, const auto& run) {
    if (arguments.Text("only") != "all" && arguments.Text("only") != part) return;
    std::fprintf(stderr, "%s ...\n", std::string(part).c_str());
    run(reports.emplace_back("bus." + std::string(part)));
  };
  const auto events = static_cast<std::size_t>(arguments.Number("events"));
  measure("webhook", [&](BenchReport& r) { Webhook(events, r); });
  measure("nats", [&](BenchReport& r) { Nats(events, arguments.Text("nats-server"), r); });
  measure("dead", [&](BenchReport& r) {
    Dead(events, static_cast<std::size_t>(arguments.Number("rounds")), r);
  });
  return WriteReports(reports, arguments, out);
}

}  // namespace

const Command kBenchBus = {
    "bench bus",
    "",
    0,
    0,
    "Measure the event bus on this machine: webhooks, NATS, an unreachable sink.",
    "Fills the log of a server, then creates a sink that starts from the beginning and waits\n"
    "until everything is delivered. The part dead compares appends to a server with an\n"
    "unreachable sink and to one without. The part nats needs nats-server. Uses and removes\n"
    "temporary directories.",
    kOptions,
    Run};

}  // namespace everstep::cli
