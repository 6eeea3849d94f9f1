// Answers that are sent by the thread that has made them. Waking the loop takes longer than the
// rest of a small call. So while few requests are in flight, the thread that answers the only
// request of a connection writes to the socket itself, and the loop learns of it when it is awake
// for something else.
//
// The loop writes nothing meanwhile, because answers are sent in the order of the requests and this
// is the first. It may close the socket, which takes the lock.

#include <utility>

#include "base/assert.h"
#include "net/io_loop.h"
#include "net/response_head.h"
#include "net/server_connection.h"

namespace everstep {
namespace {

// With more requests in flight it pays to wake the loop for several answers at once.
constexpr std::size_t kInFlightMax = 8;

}  // namespace

using Connection = HttpCall::Connection;

bool Connection::MayAnswerDirectly() const {
  return slots_.size() == 1 && out_.empty() && !stop_reading_ && !channel_.secure() &&
         !slots_.front().http_1_0;
}

bool Connection::IsDirect(std::uint64_t number) const {
  return direct_.load(std::memory_order_acquire) == number &&
         state_->in_flight.load(std::memory_order_relaxed) <= kInFlightMax &&
         !state_->draining.load(std::memory_order_relaxed);
}

void Connection::AnswerDirectly(std::uint64_t number, const ServerAnswer& answer) {
  const ServerResponse& response = answer.response;
  const ResponseFraming framing = {
      .head_only = answer.head_only, .stream = false, .http_1_0 = false, .close = false};
  constexpr std::size_t kUsualHead = 256;
  std::string bytes;
  bytes.reserve(kUsualHead + response.Body().size());
  AppendResponseHead(response, framing, DateLineNow(), bytes);
  if (!answer.head_only && HasBody(response.status)) bytes += response.Body();
  LoopPost post;
  post.kind = LoopPost::Kind::kSent;
  post.connection = shared_from_this();
  post.number = number;
  {
    const std::lock_guard lock(socket_mutex_);
    if (socket_closed_) return;
    post.sent = channel_.SendNow(bytes);
  }
  const bool whole = post.sent == bytes.size();
  bytes.erase(0, post.sent);
  post.answer.response.body = std::move(bytes);
  inbox_->Post(std::move(post), whole ? LoopInbox::Urgency::kCanWait : LoopInbox::Urgency::kNow);
}

void Connection::OnAnswerSent(std::uint64_t number, std::size_t sent, std::string rest) {
  if (closed_) return;
  EVERSTEP_ASSERT(number == first_number_ && !slots_.empty() && out_.empty());
  if (std::exchange(slots_.front().in_flight, false)) loop_.EndRequest();
  LoopCounters::Add(loop_.counters().bytes_sent, sent);
  sent_ = true;
  if (!rest.empty()) out_.Append(std::move(rest));
  PopSlot();
  Advance();
  loop_.MarkDirty(*this);
}

}  // namespace everstep
