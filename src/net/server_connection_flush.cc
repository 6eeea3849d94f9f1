#include <sys/epoll.h>

#include <array>
#include <utility>

#include "net/io_loop.h"
#include "net/server_connection.h"

namespace everstep {
namespace {

// What a connection may hold while the memory of its client is full: of a stream that its client
// does not read, and of requests of a client that is not authenticated.
constexpr std::size_t kStreamUnsentMax = 64 << 10;
constexpr std::size_t kUnreadMax = 4 << 10;

}  // namespace

using Connection = HttpCall::Connection;

void Connection::PrepareFlush() {
  if (closed_) return;
  if (!BreakStreams()) return Close();
  Advance();  // write what streams have received
  if (awaits_body() && reader_.TakeContinue()) {
    out_.Tail() += "HTTP/1.1 100 Continue\r\n\r\n";
  }
}

std::string_view Connection::SendableBytes() const {
  if (closed_ || channel_.secure()) return {};
  std::array<iovec, 1> first;
  if (out_.Front(first) == 0) return {};
  return {static_cast<const char*>(first[0].iov_base), first[0].iov_len};
}

void Connection::OnBytesWritten(std::size_t bytes) {
  if (bytes == 0) return;
  out_.Consume(bytes);
  LoopCounters::Add(loop_.counters().bytes_sent, bytes);
  sent_ = true;
}

void Connection::FinishFlush() {
  if (closed_) return;
  if (!Send()) return Close();
  SettleStream();
  if (closed_) return;
  SettleMemory();
  if (closed_) return;
  SettleReading();
  SettleEnd();
  if (closed_) return;
  SettleInterest();
  SettleDeadline();
  received_ = sent_ = false;
}

// False: an answer cannot be completed.
bool Connection::BreakStreams() {
  for (const Slot& slot : slots_) {
    if (slot.answer.stream == nullptr) continue;
    const ServerStream::Fate fate = slot.answer.stream->fate();
    if (fate.cut_off) LoopCounters::Add(loop_.counters().streams_cut_off);
    if (fate.cut_off || fate.broken) return false;
  }
  return true;
}

bool Connection::Send() {
  while (!out_.empty()) {
    std::size_t written = 0;
    const Channel::Outcome outcome = channel_.Write(out_, written);
    if (outcome == Channel::Outcome::kWouldBlock) return true;
    if (outcome != Channel::Outcome::kOk) return false;
    LoopCounters::Add(loop_.counters().bytes_sent, written);
    sent_ = true;
  }
  return true;
}

void Connection::SettleStream() {
  if (slots_.empty() || slots_.front().answer.stream == nullptr) return;
  // The callback may call this connection.
  const std::shared_ptr<ServerStream> stream = slots_.front().answer.stream;
  stream->SetUnsent(out_.bytes());
}

HeldBytes Connection::Held() const {
  HeldBytes held;
  held.all = out_.own_bytes();
  held.AddBody(unread_.size(), MemoryClaim::kBody);
  held.AddBody(reader_.buffered_bytes(), body_claim());
  for (const Slot& slot : slots_) {
    held.all += slot.answer.response.body.size();
    if (slot.body != nullptr) held.AddBody(slot.body->held(), slot.claim);
  }
  if (!holder_.is_known()) held.unproven = held.all;
  return held;
}

void Connection::SettleMemory() {
  const HeldBytes held = Held();
  if (held == accounted_) return;
  Account(held);
  if (streaming() && out_.own_bytes() > kStreamUnsentMax && IsFull(MemoryClaim::kAnswer)) {
    LoopCounters::Add(loop_.counters().streams_cut_off);
    return Close();
  }
  if (stop_reading_ || !HoldsTooMuch()) return;
  Refuse(kOverloaded);
  unread_ = {};
  SettleMemory();
}

// Whether what arrives finds no room. A client that is not authenticated may not fill the memory
// with heads and waiting requests either.
bool Connection::HoldsTooMuch() const {
  if (reader_.in_body() && IsFull(body_claim())) return true;
  return !holder_.is_known() && unread_.size() > kUnreadMax && IsFull(MemoryClaim::kAnswer);
}

void Connection::Account(const HeldBytes& held) {
  const HeldBytes former = std::exchange(accounted_, held);
  state_->memory.Replace(former, held);
  if (holder_.tenant != nullptr) holder_.tenant->bytes += held.all - former.all;
}

void Connection::ChangeHolder(std::shared_ptr<TenantAccount> tenant, bool is_operator) {
  const MemoryHolder former = std::exchange(holder_, {std::move(tenant), is_operator});
  if (holder_.tenant != nullptr) holder_.tenant->bytes += accounted_.all;
  if (former.tenant == nullptr) return;
  former.tenant->bytes -= accounted_.all;
  state_->tenants.Leave(former.tenant);
}

void Connection::SettleReading() {
  if (stop_reading_ || !blocked_ || paused || upload_full_ || !HasRoom()) return;
  blocked_ = false;
  loop_.ResumeLater(*this);
}

void Connection::SettleEnd() {
  if (lingering_ || !stop_reading_ || !slots_.empty() || !out_.empty()) return;
  if (peer_ended_) return Close();
  // Closing at once would reset the connection if the client has sent more, and the client would
  // lose the answer.
  channel_.EndWriting();
  lingering_ = true;
  loop_.CountLingering();
}

void Connection::SettleInterest() {
  std::uint32_t wanted = 0;
  if (!peer_ended_ && (lingering_ || streaming() || (!stop_reading_ && !blocked_))) {
    wanted |= EPOLLIN;
  }
  if (!out_.empty()) wanted |= EPOLLOUT;
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_.Watch(*this, wanted);
}

// Whether the body has kept its rate since its deadline was set. A byte now and then does not
// restart the deadline.
bool Connection::IsFastEnough() const {
  using Seconds = std::chrono::duration<double>;
  const Seconds left = at - loop_.now();
  const double gone = (Seconds(state_->options.body_timeout) - left).count();
  return static_cast<double>(body_bytes_) >=
         static_cast<double>(state_->options.body_rate_min) * gone;
}

void Connection::SettleDeadline() {
  Deadline wanted = Deadline::kIdle;
  bool restart = received_ || sent_;
  if (lingering_) {
    wanted = Deadline::kLinger;
    restart = false;
  } else if (!out_.empty()) {
    wanted = Deadline::kWrite;
    restart = sent_;
  } else if (awaits_body()) {
    // A client whose socket is not read is not late.
    wanted = upload_full_ ? Deadline::kNone : Deadline::kBody;
    restart = received_ && !upload_full_ && IsFastEnough();
  } else if (!slots_.empty()) {
    wanted = Deadline::kNone;
    restart = false;
  } else if (reader_.in_head() || !channel_.established()) {
    wanted = Deadline::kHead;
    restart = false;
  }
  if (wanted == kind && !restart) return;
  loop_.SetDeadline(*this, wanted);
  body_bytes_ = 0;
}

}  // namespace everstep
