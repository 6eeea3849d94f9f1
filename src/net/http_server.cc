#include "net/http_server.h"

#include <utility>

#include "net/acceptor.h"
#include "net/io_loop.h"
#include "net/server_state.h"

namespace everstep {
namespace {

class EpollServer final : public HttpServer {
 public:
  EpollServer(std::shared_ptr<ServerState> state, std::vector<UniqueFd> listeners,
              std::vector<std::string> addresses)
      : state_(std::move(state)), addresses_(std::move(addresses)) {
    for (std::uint32_t i = 0; i < state_->options.io_threads; ++i) {
      state_->inboxes.push_back(std::make_shared<LoopInbox>());
      loops_.push_back(std::make_unique<IoLoop>(state_, state_->inboxes.back()));
    }
    loops_.front()->Listen(std::move(listeners));
    for (const auto& loop : loops_) loop->Start();
  }

  ~EpollServer() override {
    state_->stopping = true;
    WakeAll();
    for (const auto& loop : loops_) loop->Join();
  }
  EpollServer(const EpollServer&) = delete;
  EpollServer& operator=(const EpollServer&) = delete;

  std::vector<std::string> addresses() const override { return addresses_; }

  bool Drain(std::chrono::milliseconds wait) override {
    state_->draining = true;
    WakeAll();
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, wait,
                                    [this] { return state_->drained_loops == loops_.size(); });
  }

  Status ReloadCertificate() override {
    if (state_->tls == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "the server has no certificate", {}};
    }
    return state_->tls->Load();
  }

  HttpServerMetrics Metrics() const override {
    HttpServerMetrics metrics;
    for (const auto& loop : loops_) {
      const LoopCounters& counters = loop->counters();
      metrics.connections_total += counters.connections;
      metrics.connections_refused += counters.refused;
      metrics.requests_total += counters.requests;
      metrics.requests_malformed += counters.malformed;
      // Read in this order, because a stream is counted as begun before it is counted as gone.
      const std::uint64_t gone = counters.streams_gone;
      metrics.streams_open += counters.streams_begun - gone;
      metrics.streams_cut_off += counters.streams_cut_off;
      metrics.timeouts += counters.timeouts;
      metrics.bytes_received += counters.bytes_received;
      metrics.bytes_sent += counters.bytes_sent;
    }
    metrics.connections_open = state_->connections;
    metrics.requests_in_flight = state_->in_flight;
    metrics.buffered_bytes = state_->memory.bytes();
    return metrics;
  }

 private:
  void WakeAll() {
    for (const auto& inbox : state_->inboxes) inbox->Wake();
  }

  const std::shared_ptr<ServerState> state_;
  const std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<IoLoop>> loops_;
};

Error BadOption(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), {}};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                      HttpHandler& handler) {
  if (options.listen.empty()) return BadOption("no address to listen at was given");
  if (options.io_threads == 0) return BadOption("io_threads must be at least 1");
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return BadOption("give both a certificate and its key, or neither");
  }
  auto state = std::make_shared<ServerState>(std::move(options), handler);
  if (!state->options.certificate_file.empty()) {
    state->tls =
        std::make_unique<TlsContext>(state->options.certificate_file, state->options.key_file);
    const Status loaded = state->tls->Load();
    if (!loaded) return loaded.error();
  }
  std::vector<UniqueFd> listeners;
  std::vector<std::string> addresses;
  for (const std::string& where : state->options.listen) {
    auto listener = ListenAt(where, addresses.emplace_back());
    if (!listener) return listener.error();
    listeners.push_back(std::move(*listener));
  }
  return std::unique_ptr<HttpServer>(
      std::make_unique<EpollServer>(std::move(state), std::move(listeners), std::move(addresses)));
}

}  // namespace everstep
