#include "serve/server.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/watched_clock.h"
#include "net/acceptor.h"
#include "net/certificate.h"
#include "queue/http_courier.h"
#include "serve/access_tokens.h"
#include "serve/audit_log.h"
#include "serve/devkit/stalled_run.h"
#include "work/server_engine.h"

namespace everstep {
namespace {

// Engine callbacks can arrive before the API exists. Alerts raised that early are kept for Fill.
struct ApiSlot {
  std::atomic<Api*> api{nullptr};

  void Raise(const Alert& alert) {
    const std::lock_guard lock(mutex);
    if (Api* there = api.load()) {
      there->Raised(alert);
    } else if (early.size() < AlertList::kKept) {
      early.push_back(alert);
    }
  }
  void Fill(Api& there) {
    const std::lock_guard lock(mutex);
    for (const Alert& alert : early) there.Raised(alert);
    early.clear();
    api.store(&there);
  }

 private:
  std::mutex mutex;
  std::vector<Alert> early;  // raised before the API existed
};

void LogAlert(ServerLog& log, const Alert& alert) {
  LogLine line{alert.severity == "P1" ? LogLevel::kError : LogLevel::kWarn,
               "alert",
               alert.detail,
               {{"code", alert.code}, {"severity", alert.severity}}};
  if (!alert.run_id.empty()) line.fields.emplace_back("runId", alert.run_id);
  log.Write(line);
}

void LogUnavailableSecret(ServerLog& log, const SecretOwner& owner, const SecretRef& ref,
                          const std::string& why) {
  log.Write({LogLevel::kWarn,
             "secret.unavailable",
             why,
             {{"tenantId", owner.is_server() ? "(server)" : owner.tenant_id()},
              {"provider", ref.provider},
              {"key", ref.key}}});
}

void LogLostTokens(ServerLog& log, const ServerOptions& options) {
  log.Write({LogLevel::kError,
             "tokens.lost",
             "the file of API tokens is missing, so all former tokens are refused; restore it from "
             "a backup, or create new tokens with the new admin token",
             {{"file", options.data_directory + "/tokens.json"}}});
}

class RunningServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  ~RunningServer() override;

  std::vector<std::string> addresses() const override { return http_->addresses(); }
  std::string admin_token_path() const override {
    return tokens_ && tokens_->has_admin_token_file() ? tokens_->admin_token_path() : std::string();
  }
  Engine& engine() override { return *engine_.engine; }
  bool Drain(std::chrono::milliseconds wait) override;
  Status ReloadCertificate() override { return http_->ReloadCertificate(); }

 private:
  void Note(const char* action) {
    AuditEntry entry;
    entry.actor = "server";
    entry.action = action;
    (void)audit_->Append(entry);
  }
  void WriteLog(LogLine line) const {
    if (log_ != nullptr) log_->Write(line);
  }

  Status OpenQueue(const ServerOptions& options);

  ApiSlot slot_;
  ServerLog* log_ = nullptr;
  const LocalEngine::EndListener on_end_ = [this](const Execution& run) {
    if (Api* api = slot_.api.load()) api->RunEnded(run);
  };
  std::unique_ptr<AccessTokens> tokens_;
  std::unique_ptr<AuditLog> audit_;
  ServerEngine engine_;
  std::unique_ptr<EventBus> bus_;
  std::unique_ptr<RunStreams> streams_;
  std::unique_ptr<HttpCourier> courier_;
  std::unique_ptr<MessageQueue> queue_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> http_;
  bool started_ = false;  // a server that never started logs no stop
};

Result<std::unique_ptr<Server>> RunningServer::Start(ServerOptions options) {
  if (const Status fit = CheckServable(options); !fit) return fit.error();
  auto server = std::make_unique<RunningServer>();
  server->log_ = options.api.log;
  ApiSlot& slot = server->slot_;
  options.api.free_bytes_min =
      std::max(options.api.free_bytes_min, options.engine.log.free_bytes_min);
  auto on_alert = std::move(options.engine.on_alert);
  const auto raise = [&slot, on_alert, log = options.api.log](const Alert& alert) {
    slot.Raise(alert);
    if (log != nullptr) LogAlert(*log, alert);
    if (on_alert) on_alert(alert);
  };
  options.engine.on_alert = raise;
  auto engine =
      OpenServerEngine(std::move(options.engine), std::move(options.work),
                       [log = options.api.log](const SecretOwner& owner, const SecretRef& ref,
                                               const std::string& why) {
                         if (log != nullptr) LogUnavailableSecret(*log, owner, ref, why);
                       });
  if (!engine) return std::move(engine).error();
  server->engine_ = *std::move(engine);
  if (options.authentication) {
    const bool lost = AccessTokens::HasLostFile(options.data_directory);
    auto tokens = AccessTokens::Open(options.data_directory, SystemClock(), SystemRandom());
    if (!tokens) return std::move(tokens).error();
    server->tokens_ = *std::move(tokens);
    if (lost && options.api.log != nullptr) LogLostTokens(*options.api.log, options);
    if (lost) {
      raise({"TOKENS_LOST", "P1", "",
             "the file of API tokens was missing, so all former tokens are refused; restore it "
             "from a backup, or create new tokens with the new admin token",
             "", true});
    }
  }
  auto audit = AuditLog::Open(options.data_directory, SystemClock(), SystemRandom());
  if (!audit) return std::move(audit).error();
  server->audit_ = *std::move(audit);
  if (const std::string& broken = server->audit_->broken(); !broken.empty()) {
    raise({"AUDIT_BROKEN", "P1", "",
           "the audit log does not match its last recorded state: " + broken +
               "; run `everstep audit verify`, and find out who or what changed the files",
           "", true});
  }
  if (options.bus.directory.empty()) options.bus.directory = options.data_directory + "/sinks";
  auto bus = EventBus::Open({.log = server->engine_.engine->embedded_log(),
                             .artifacts = *server->engine_.artifacts,
                             .secrets = server->engine_.secrets,
                             .clock = WatchedSystemClock(),
                             .random = SystemRandom(),
                             .on_alert = raise},
                            std::move(options.bus));
  if (!bus) return std::move(bus).error();
  server->bus_ = *std::move(bus);
  options.api.data_directory = options.data_directory;
  // Unauthenticated clients, including probes, get an eighth of the requests.
  const std::size_t unproven = options.http.in_flight_max / 8;
  options.api.requests.max = std::max<std::size_t>(1, options.http.in_flight_max - unproven);
  options.api.unproven_requests.max = std::max<std::size_t>(8, unproven);
  if (const Status opened = server->OpenQueue(options); !opened) return opened.error();
  server->api_ = std::make_unique<Api>(
      Api::Parts{*server->engine_.engine, *server->engine_.work, *server->engine_.artifacts,
                 *server->bus_, server->tokens_.get(), *server->audit_, *server->queue_,
                 *server->streams_, WatchedSystemClock(), SystemRandom()},
      std::move(options.api));
  slot.Fill(*server->api_);
  if (const Status loaded = server->api_->loaded(); !loaded) {
    const Error& error = loaded.error();
    raise({std::string(Name(error.code)), "P1", "", error.message, "", true});
  }
  server->engine_.engine->SetEndListener(&server->on_end_);
  auto http = HttpServer::Start(std::move(options.http), *server->api_);
  if (!http) return std::move(http).error();
  server->http_ = *std::move(http);
  server->queue_->Start();
  server->api_->SetHttpMetrics([&http = *server->http_] { return http.Metrics(); });
  server->Note("server.start");
  server->started_ = true;
  for (const std::string& address : server->addresses()) {
    server->WriteLog({LogLevel::kInfo, "server.start", "listening", {{"address", address}}});
  }
  return std::unique_ptr<Server>(std::move(server));
}

Status RunningServer::OpenQueue(const ServerOptions& options) {
  StateStore& store = engine_.engine->store();
  Committer& committer = engine_.engine->embedded_log().committer();
  streams_ = std::make_unique<RunStreams>(store, committer, WatchedSystemClock());
  courier_ = std::make_unique<HttpCourier>(SystemClock(), options.queue_allow_private);
  // A message's group is its run: a paused run receives none.
  const auto is_held = [&store](const std::string& tenant_id, const std::string& group) {
    const auto run = store.Read()->FindRun(RunId(group));
    return run && *run && (*run)->state.scope.tenant_id == tenant_id &&
           (*run)->state.status == RunStatus::kPaused;
  };
  const auto is_gone = [&store](const std::string& tenant_id, const std::string& group) {
    const auto tombstone = store.Read()->FindTombstone(RunId(group));
    if (!tombstone || !*tombstone) return false;
    const std::string& owner = (*tombstone)->tenant_id;
    return owner.empty() || owner == tenant_id;
  };
  const auto wake = [&store](const std::string& tenant_id, const std::string& group, bool later) {
    return WakeStalledRun(*store.Read(), tenant_id, RunId(group), later);
  };
  auto queue = MessageQueue::Open(
      {store, committer, WatchedSystemClock(), SystemRandom(), *courier_, is_held, is_gone, wake},
      options.queue);
  if (!queue) return std::move(queue).error();
  queue_ = *std::move(queue);
  return Ok();
}

// Workers may still report while steps finish; after that the sockets close.
bool RunningServer::Drain(std::chrono::milliseconds wait) {
  const auto end = SteadyNow() + wait;
  const auto to_answer = std::min<std::chrono::milliseconds>(std::chrono::seconds(1), wait / 4);
  WriteLog({LogLevel::kInfo, "server.drain", "no longer accepting requests"});
  api_->SetDraining();
  queue_->Stop();
  engine_.work->StopLending();
  const bool finished = engine_.engine->Drain(wait - to_answer);
  const auto left = std::chrono::floor<std::chrono::milliseconds>(end - SteadyNow());
  const bool answered = http_->Drain(std::clamp(left, std::chrono::milliseconds(0), to_answer));
  // Unanswered clients have to ask the next process.
  api_->Abandon();
  return answered && finished;
}

RunningServer::~RunningServer() {
  // The order matters: stop accepting requests, answer everyone who waits for the engine while the
  // API can still send answers, and only then destroy the API, which reads the engine's log.
  http_.reset();
  slot_.api.store(nullptr);
  // Deliveries in flight are abandoned here; the next process delivers them again.
  if (queue_) queue_->Stop();
  courier_.reset();
  if (engine_.engine) {
    engine_.engine->Stop();
    engine_.work->StopLending();
  }
  if (started_) Note("server.stop");
  api_.reset();
  bus_.reset();
  queue_.reset();
  streams_.reset();
  engine_.engine.reset();
  if (tokens_) (void)tokens_->Save();
  if (started_) WriteLog({LogLevel::kInfo, "server.stop", "stopped"});
}

bool IsPort(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && last == end;
}

}  // namespace

Status CheckServable(const ServerOptions& options) {
  const HttpServerOptions& http = options.http;
  std::vector<Fault> faults;
  if (http.listen.empty()) faults.push_back({"listen", "no address given"});
  for (const std::string& address : http.listen) {
    if (const Status fit = CheckListenAddress(address); !fit) {
      faults.push_back({"listen", fit.error().message});
    } else if (!options.authentication && !IsLoopback(address)) {
      faults.push_back(
          {"listen", "authentication is off: only loopback addresses are allowed, not " + address});
    }
  }
  if (http.certificate_file.empty() != http.key_file.empty()) {
    faults.push_back({http.key_file.empty() ? "tls.certificate" : "tls.key",
                      "tls.certificate and tls.key must be set together"});
  } else if (!http.certificate_file.empty()) {
    const auto certificate = ReadCertificate(http.certificate_file, http.key_file);
    if (!certificate) faults.push_back({"tls.certificate", certificate.error().message});
  }
  if (faults.empty()) return Ok();
  return Error{ErrorCode::kInvalidArgument, "invalid server configuration", std::move(faults)};
}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  return RunningServer::Start(std::move(options));
}

bool IsLoopback(std::string_view address) {
  const bool bracketed = address.starts_with('[');
  const std::size_t end =
      bracketed ? address.find(']') : std::min(address.find(':'), address.size());
  if (end == std::string_view::npos) return false;
  const std::string host(bracketed ? address.substr(1, end - 1) : address.substr(0, end));
  const std::string_view rest = address.substr(bracketed ? end + 1 : end);
  // "localhost:evil.example" is not a loopback address.
  if (!rest.empty() && (rest.front() != ':' || !IsPort(rest.substr(1)))) return false;
  in6_addr six{};
  if (bracketed) {
    return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
  }
  if (host == "localhost") return true;
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

}  // namespace everstep
