#include "bus/nats_sink.h"

#include <nats/nats.h>

#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "work/worker_threads.h"

namespace everstep {
namespace {

struct Free {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
  void operator()(natsConnection* connection) const { natsConnection_Destroy(connection); }
  void operator()(natsSubscription* subscription) const { natsSubscription_Destroy(subscription); }
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string Text(natsStatus status) { return std::string("NATS: ") + natsStatus_GetText(status); }

Outcome Unavailable(natsStatus status) { return {Verdict::kUnavailable, Text(status)}; }

// Maps a stream's reply to an outcome.
Outcome OutcomeOfAck(natsMsg* ack) {
  if (natsMsg_IsNoResponders(ack)) {
    return {Verdict::kUnavailable, "NATS: no stream accepts this subject"};
  }
  const std::string_view text(natsMsg_GetData(ack),
                              static_cast<std::size_t>(natsMsg_GetDataLength(ack)));
  if (!text.starts_with('{'))
    return {Verdict::kUnavailable, "NATS: the reply is not from a stream"};
  const auto error = RawMember(text, "error");
  if (!error) return {Verdict::kDelivered};
  const std::string reason = "NATS: " + std::string(error->substr(0, 300));
  const auto code = RawMember(*error, "code");
  return {code && *code == "503" ? Verdict::kUnavailable : Verdict::kRefused, reason};
}

class NatsSink final : public Sink {
 public:
  explicit NatsSink(const SinkDefinition& sink) : nats_(*sink.nats), thread_(1) {}
  ~NatsSink() override {
    stopping_.store(true);
    const std::lock_guard lock(mutex_);
    if (connection_) natsConnection_Close(connection_.get());  // wakes up a waiting thread
  }

  bool takes_whole_batches() const override { return false; }

  void Deliver(std::vector<Message> batch, Done done) override {
    thread_.Run([this, batch = std::move(batch), done = std::move(done)] {
      std::vector<Outcome> outcomes(batch.size());
      if (!stopping_.load()) Publish(batch, outcomes);
      done(std::move(outcomes));
    });
  }

 private:
  natsStatus Connect();
  void Disconnect();
  void Publish(const std::vector<Message>& batch, std::vector<Outcome>& outcomes);
  natsStatus Send(const Message& message, std::size_t index);
  natsStatus AwaitAcks(std::size_t sent, std::vector<Outcome>& outcomes);

  const SinkDefinition::Nats nats_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards changes of connection_, which the destructor closes
  Owned<natsConnection> connection_;
  Owned<natsSubscription> acks_;
  std::string inbox_;        // replies arrive here, followed by batch and index of the message
  std::uint64_t batch_ = 0;  // tells late replies of earlier batches apart
  std::int64_t payload_max_ = 0;
  WorkerThreads thread_;  // declared last: it is destroyed before the members it uses
};

natsStatus NatsSink::Connect() {
  if (connection_ && natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED) {
    return NATS_OK;
  }
  Disconnect();
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  const Owned<natsOptions> options(made);
  std::vector<const char*> servers;
  for (const std::string& server : nats_.servers) servers.push_back(server.c_str());
  const auto then = [&status](auto step) {
    if (status == NATS_OK) status = step();
  };
  then([&] {
    return natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size()));
  });
  then([&] { return natsOptions_SetName(made, "everstep"); });
  then([&] { return natsOptions_SetAllowReconnect(made, false); });
  then([&] { return natsOptions_SetTimeout(made, nats_.timeout.count()); });
  if (!nats_.credentials.empty()) {
    then([&] {
      return natsOptions_SetUserCredentialsFromFiles(made, nats_.credentials.c_str(), nullptr);
    });
  }
  if (!nats_.ca_file.empty()) {
    then([&] { return natsOptions_LoadCATrustedCertificates(made, nats_.ca_file.c_str()); });
  }
  natsConnection* connection = nullptr;
  then([&] { return natsConnection_Connect(&connection, made); });
  if (status != NATS_OK) return status;
  {
    const std::lock_guard lock(mutex_);
    connection_.reset(connection);
  }
  payload_max_ = natsConnection_GetMaxPayload(connection);
  natsInbox* inbox = nullptr;
  then([&] { return natsInbox_Create(&inbox); });
  if (status == NATS_OK) inbox_ = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* acks = nullptr;
  then([&] { return natsConnection_SubscribeSync(&acks, connection, (inbox_ + ".*.*").c_str()); });
  acks_.reset(acks);
  if (status != NATS_OK) Disconnect();
  return status;
}

void NatsSink::Disconnect() {
  acks_.reset();
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

void NatsSink::Publish(const std::vector<Message>& batch, std::vector<Outcome>& outcomes) {
  const natsStatus connected = Connect();
  if (connected != NATS_OK) {
    outcomes.assign(batch.size(), Unavailable(connected));
    return;
  }
  ++batch_;
  natsStatus status = NATS_OK;
  std::size_t sent = 0;
  for (std::size_t i = 0; i < batch.size() && status == NATS_OK; ++i) {
    outcomes[i] = Unavailable(NATS_TIMEOUT);
    if (static_cast<std::int64_t>(batch[i].body.size()) > payload_max_) {
      outcomes[i] = {Verdict::kRefused, "the message is larger than the server's limit of " +
                                            std::to_string(payload_max_) + " bytes"};
      continue;
    }
    status = Send(batch[i], i);
    if (status != NATS_OK)
      std::fill(outcomes.begin() + static_cast<std::ptrdiff_t>(i), outcomes.end(),
                Unavailable(status));
    if (status == NATS_OK) ++sent;
  }
  if (status == NATS_OK)
    status = natsConnection_FlushTimeout(connection_.get(), nats_.timeout.count());
  const natsStatus answered = AwaitAcks(sent, outcomes);
  if (status != NATS_OK || answered != NATS_OK) Disconnect();
}

natsStatus NatsSink::Send(const Message& message, std::size_t index) {
  const std::string reply = inbox_ + "." + std::to_string(batch_) + "." + std::to_string(index);
  natsMsg* made = nullptr;
  natsStatus status = natsMsg_Create(&made, message.topic.c_str(), reply.c_str(),
                                     message.body.data(), static_cast<int>(message.body.size()));
  const Owned<natsMsg> owned(made);
  const auto header = [&](const std::string& name, const std::string& value) {
    if (status == NATS_OK) status = natsMsgHeader_Set(made, name.c_str(), value.c_str());
  };
  header("Nats-Msg-Id", message.id);
  header("Content-Type", message.content_type);
  for (const auto& [name, value] : message.headers) header(name, value);
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.get(), made);
  return status;
}

natsStatus NatsSink::AwaitAcks(std::size_t sent, std::vector<Outcome>& outcomes) {
  const auto deadline = SteadyNow() + nats_.timeout;
  const std::string mine = inbox_ + "." + std::to_string(batch_) + ".";
  while (sent > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyNow()).count();
    natsMsg* got = nullptr;
    const natsStatus status =
        left <= 0 ? NATS_TIMEOUT : natsSubscription_NextMsg(&got, acks_.get(), left);
    const Owned<natsMsg> ack(got);
    if (status != NATS_OK) {
      for (Outcome& outcome : outcomes) {
        if (outcome.verdict == Verdict::kUnavailable) outcome.reason = Text(status);
      }
      return status;
    }
    const std::string_view subject = natsMsg_GetSubject(got);
    std::size_t index = outcomes.size();
    if (subject.starts_with(mine)) {
      std::from_chars(subject.data() + mine.size(), subject.data() + subject.size(), index);
    }
    if (index >= outcomes.size()) continue;
    outcomes[index] = OutcomeOfAck(got);
    --sent;
  }
  return NATS_OK;
}

}  // namespace

std::unique_ptr<Sink> NewNatsSink(const SinkDefinition& sink) {
  return std::make_unique<NatsSink>(sink);
}

}  // namespace everstep
