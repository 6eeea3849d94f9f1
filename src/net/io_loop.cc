#include "net/io_loop.h"

#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "net/response_head.h"

namespace everstep {
namespace {

// How long a client may take to close a connection that the server has ended.
constexpr std::chrono::milliseconds kLingerTime{2'000};
// The longest time after which the loop notices an answer that another thread has sent.
constexpr int kHearWithinMs = 250;
// The number of connections over the limit that get an answer at the same time; others are just
// closed.
constexpr std::size_t kRefusedOpenMax = 256;

std::array<std::chrono::milliseconds, kDeadlineKinds> LengthsOf(const HttpServerOptions& options) {
  std::array<std::chrono::milliseconds, kDeadlineKinds> lengths{};
  const auto set = [&](Deadline kind, std::chrono::milliseconds length) {
    lengths[static_cast<std::size_t>(kind)] = length;
  };
  set(Deadline::kHead, options.head_timeout);
  set(Deadline::kBody, options.body_timeout);
  set(Deadline::kIdle, options.idle_timeout);
  set(Deadline::kWrite, options.write_timeout);
  set(Deadline::kLinger, kLingerTime);
  return lengths;
}

void Add(int epoll, int fd, std::uint32_t events, EventTarget* target) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = target;
  EVERSTEP_ASSERT(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

}  // namespace

IoLoop::IoLoop(std::shared_ptr<ServerState> state, std::shared_ptr<LoopInbox> inbox)
    : state_(std::move(state)),
      inbox_(std::move(inbox)),
      deadlines_(LengthsOf(state_->options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      read_buffer_(kReadBytes) {
  EVERSTEP_ASSERT(epoll_);
  Add(epoll_.get(), inbox_->wake_fd(), EPOLLIN | EPOLLET, nullptr);
}

void IoLoop::Listen(std::vector<UniqueFd> listeners) {
  for (UniqueFd& listener : listeners) {
    const int fd = listener.get();
    acceptors_.push_back(std::make_unique<Acceptor>(
        std::move(listener), [this](UniqueFd socket, std::string peer_address) {
          Deal(std::move(socket), std::move(peer_address));
        }));
    Add(epoll_.get(), fd, EPOLLIN, acceptors_.back().get());
  }
}

void IoLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void IoLoop::Run() {
  // Block SIGPIPE, because a peer that closes must not end the process, and all other signals,
  // which are for other threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  inbox_->BindToThread();
  now_ = SteadyNow();
  while (!state_->stopping.load()) Round();
  CloseAll();
}

void IoLoop::Round() {
  std::array<epoll_event, kEventsMax> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, WaitMilliseconds());
  now_ = SteadyNow();
  unpack_left_ = kUnpackRound;
  // Answers from other threads first: they make room for the requests that follow.
  inbox_->Take(mail_);
  TakeMail();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    // Null stands for the inbox, which is checked in every round.
    if (event.data.ptr != nullptr)
      static_cast<EventTarget*>(event.data.ptr)->OnEvents(event.events);
  }
  ResumeConnections();
  if (state_->draining.load() && !draining_) BeginDrain();
  state_->handler.RoundEnded();
  ExpireDeadlines();
  FlushDirty();
  ResumePaused();
  ReportDrained();
  // A connection that was marked dirty after its turn is still visited in the next round.
  std::erase_if(closed_, [](const auto& connection) { return !connection->dirty; });
}

int IoLoop::WaitMilliseconds() {
  if (!resumed_.empty() || !dirty_.empty()) return 0;
  if (!inbox_->BeginWait()) return 0;
  // While requests are in flight, other threads may send answers without waking the loop.
  const int most = state_->in_flight.load() > 0 ? kHearWithinMs : -1;
  const auto next = deadlines_.Next();
  if (!next) return most;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - SteadyNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most < 0 ? 60'000 : most));
}

void IoLoop::TakeMail() {
  for (LoopPost& post : mail_.posts) {
    switch (post.kind) {
      case LoopPost::Kind::kAnswer:
        post.connection->Deliver(post.number, std::move(post.answer));
        break;
      case LoopPost::Kind::kSent:
        post.connection->OnAnswerSent(post.number, post.sent, std::move(post.answer.response.body));
        break;
      case LoopPost::Kind::kStreamNews:
        post.connection->OnStreamChanged(*post.answer.stream);
        break;
      case LoopPost::Kind::kBodyRoom:
        post.connection->OnRoomForBody();
        break;
      case LoopPost::Kind::kSocket:
        Adopt(std::move(post.socket), post.peer_address, false);
        break;
    }
  }
  mail_.posts.clear();
  for (const auto& work : mail_.works) work->Answer();
  mail_.works.clear();
}

void IoLoop::Deal(UniqueFd socket, std::string peer_address) {
  if (!state_->addresses.Take(peer_address)) return TurnAway(std::move(socket), peer_address);
  if (state_->connections.load() >= state_->options.connections_max && !MakeRoom()) {
    state_->addresses.Leave(peer_address);
    return TurnAway(std::move(socket), peer_address);
  }
  state_->connections.fetch_add(1);
  LoopCounters::Add(counters_.connections);
  LoopInbox& chosen = *state_->inboxes[next_loop_++ % state_->inboxes.size()];
  if (&chosen == inbox_.get()) return Adopt(std::move(socket), peer_address, false);
  chosen.Post({.kind = LoopPost::Kind::kSocket,
               .connection = nullptr,
               .number = 0,
               .answer = {},
               .sent = 0,
               .socket = std::move(socket),
               .peer_address = std::move(peer_address)});
}

void IoLoop::TurnAway(UniqueFd socket, const std::string& peer_address) {
  LoopCounters::Add(counters_.refused);
  // An answer over TLS would need a handshake, for which there is no room.
  if (state_->tls != nullptr || refused_open_ >= kRefusedOpenMax) return;
  Adopt(std::move(socket), peer_address, true);
}

bool IoLoop::MakeRoom() {
  constexpr int kLookedAt = 64;  // others may have requests in flight
  int looked_at = 0;
  for (Connection* connection : unproven_) {
    if (++looked_at > kLookedAt) break;
    if (!connection->awaits_client()) continue;
    LoopCounters::Add(counters_.refused);
    connection->Close();
    return true;
  }
  return false;
}

void IoLoop::Vouched(Connection& connection) {
  if (connection.unproven) unproven_.erase(*connection.unproven);
  connection.unproven.reset();
}

void IoLoop::Adopt(UniqueFd socket, const std::string& peer_address, bool refused) {
  const int fd = socket.get();
  auto connection = std::make_shared<Connection>(*this, std::move(socket), peer_address);
  connection->index = connections_.size();
  connection->counted = !refused;
  if (!refused) connection->unproven = unproven_.insert(unproven_.end(), connection.get());
  Add(epoll_.get(), fd, EPOLLIN, connection.get());
  connections_.push_back(connection);
  MarkDirty(*connection);
  if (refused) {
    ++refused_open_;
    connection->Refuse(
        {503, "TOO_MANY_CONNECTIONS", "the server has reached a limit of connections"});
  } else if (draining_) {
    connection->BeginDrain();
  }
}

void IoLoop::MarkDirty(Connection& connection) {
  if (!std::exchange(connection.dirty, true)) dirty_.push_back(&connection);
}

void IoLoop::Watch(Connection& connection, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = static_cast<EventTarget*>(&connection);
  EVERSTEP_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event) == 0);
}

void IoLoop::SetDeadline(Connection& connection, Deadline kind) {
  deadlines_.Set(connection, kind, now_);
}

// Pausing and releasing each write their own number before they read the other's, so that one of
// the two sees that there is room again.
bool IoLoop::MayTakeRequest(Connection& connection) {
  if (state_->in_flight.load() < state_->options.in_flight_max) return true;
  if (std::exchange(connection.paused, true)) return false;
  if (paused_.empty()) state_->pausing_loops.fetch_add(1);
  paused_.push_back(connection.shared_from_this());
  return false;
}

void IoLoop::EndRequest() {
  state_->in_flight.fetch_sub(1);
  requests_ended_ = true;
}

void IoLoop::ResumePaused() {
  if (std::exchange(requests_ended_, false) && state_->pausing_loops.load() > 0) {
    for (const auto& inbox : state_->inboxes) {
      if (inbox != inbox_) inbox->Wake();
    }
  }
  if (paused_.empty()) return;
  const std::size_t in_flight = state_->in_flight.load();
  const std::size_t room =
      state_->options.in_flight_max - std::min(in_flight, state_->options.in_flight_max);
  const std::size_t count = std::min(room, paused_.size());
  for (std::size_t i = 0; i < count; ++i) {
    paused_[i]->paused = false;
    resumed_.push_back(std::move(paused_[i]));
  }
  paused_.erase(paused_.begin(), paused_.begin() + static_cast<std::ptrdiff_t>(count));
  if (paused_.empty()) state_->pausing_loops.fetch_sub(1);
}

void IoLoop::ResumeLater(Connection& connection) {
  resumed_.push_back(connection.shared_from_this());
}

void IoLoop::ResumeConnections() {
  std::vector<std::shared_ptr<Connection>> resumed;
  resumed.swap(resumed_);
  for (const auto& connection : resumed) connection->Resume();
}

void IoLoop::ExpireDeadlines() {
  Deadline kind = Deadline::kNone;
  while (DeadlineLink* link = deadlines_.TakeDue(now_, kind)) {
    static_cast<Connection*>(link)->OnDeadline(kind);
  }
}

// What becomes dirty meanwhile waits for the next round, which then begins at once, so that a
// handler that writes as fast as a client reads does not hold up others.
void IoLoop::FlushDirty() {
  flushing_.swap(dirty_);
  for (Connection* connection : flushing_) {
    connection->dirty = false;
    connection->PrepareFlush();
  }
  if (batch_.usable() && flushing_.size() > 1) SendTogether();
  for (Connection* connection : flushing_) connection->FinishFlush();
  flushing_.clear();
}

// Each connection sends its rest by itself.
void IoLoop::SendTogether() {
  for (auto next = flushing_.begin(); next != flushing_.end();) {
    sending_.clear();
    for (; next != flushing_.end() && sending_.size() < SendBatch::kMost; ++next) {
      const std::string_view bytes = (*next)->SendableBytes();
      if (bytes.empty()) continue;
      batch_.Add((*next)->fd(), bytes);
      sending_.push_back(*next);
    }
    const auto sent = batch_.Send();
    for (std::size_t i = 0; i < sent.size(); ++i) sending_[i]->OnBytesWritten(sent[i]);
  }
}

void IoLoop::Remove(Connection& connection) {
  deadlines_.Set(connection, Deadline::kNone, now_);
  if (connection.lingering()) --lingering_;
  Vouched(connection);
  if (connection.counted) {
    state_->connections.fetch_sub(1);
    state_->addresses.Leave(connection.peer_address());
  } else {
    --refused_open_;
  }
  const std::size_t index = connection.index;
  std::swap(connections_[index], connections_.back());
  connections_[index]->index = index;
  closed_.push_back(std::move(connections_.back()));
  connections_.pop_back();
}

void IoLoop::BeginDrain() {
  draining_ = true;
  acceptors_.clear();
  const auto all = connections_;
  for (const auto& connection : all) connection->BeginDrain();
}

void IoLoop::ReportDrained() {
  if (!draining_ || drained_ || connections_.size() > lingering_) return;
  drained_ = true;
  const std::lock_guard lock(state_->mutex);
  ++state_->drained_loops;
  state_->changed.notify_all();
}

void IoLoop::CloseAll() {
  acceptors_.clear();
  while (!connections_.empty()) connections_.back()->Close();
  inbox_->Close();
  closed_.clear();
  paused_.clear();
  resumed_.clear();
}

}  // namespace everstep
