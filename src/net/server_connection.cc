#include "net/server_connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "net/io_loop.h"
#include "net/response_head.h"

namespace everstep {
namespace {

using Connection = HttpCall::Connection;

// Requests of one connection that may wait for their answers.
constexpr std::size_t kPipelineMax = 32;
// The number of slots that a quiet connection keeps.
constexpr std::size_t kSlotsKept = 4;
// A larger answer seldom fits into the socket's buffer.
constexpr std::size_t kDirectBytesMax = 32 << 10;
// Bytes of answers that the client has not taken; beyond it its requests are not read. The second
// is for clients that are not authenticated, or whose share of the memory is full.
constexpr std::size_t kUnsentMax = 256 << 10;
constexpr std::size_t kLittleUnsentMax = 8 << 10;

HeadLimits LimitsOf(const HttpServerOptions& options) {
  return {options.head_bytes_max, options.headers_max, options.target_bytes_max};
}

void AppendChunk(std::string&& bytes, OutputQueue& out) {
  std::array<char, 18> size;
  char* end = std::to_chars(size.data(), size.data() + 16, bytes.size(), 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.Tail().append(size.data(), end);
  out.Append(std::move(bytes));
  out.Tail() += "\r\n";
}

}  // namespace

Connection::Connection(IoLoop& loop, UniqueFd socket, std::string_view peer_address)
    : loop_(loop),
      state_(loop.state()),
      inbox_(loop.inbox()),
      peer_address_(peer_address),
      channel_(std::move(socket)),
      reader_(LimitsOf(state_->options), state_->handler),
      out_(loop.buffers()),
      interest_(EPOLLIN) {
  if (state_->tls != nullptr) channel_.Secure(state_->tls->NewSession(channel_.fd()));
  reader_.SetPeer(peer_address, channel_.secure());
}

void Connection::Answer(std::uint64_t number, ServerAnswer answer) {
  if (inbox_->OnLoopThread()) return Deliver(number, std::move(answer));
  const bool small = answer.stream == nullptr && answer.response.Body().size() <= kDirectBytesMax;
  if (small && IsDirect(number)) return AnswerDirectly(number, answer);
  const std::shared_ptr<ServerStream> stream = answer.stream;
  const bool posted = inbox_->Post({.kind = LoopPost::Kind::kAnswer,
                                    .connection = shared_from_this(),
                                    .number = number,
                                    .answer = std::move(answer),
                                    .sent = 0,
                                    .socket = {},
                                    .peer_address = {}});
  if (!posted && stream != nullptr) stream->Close();
}

void Connection::AnswerBy(std::uint64_t number, std::unique_ptr<AnswerWork> work) {
  if (inbox_->OnLoopThread() || IsDirect(number)) return work->Answer();
  // The work may be done and this connection gone before Post returns.
  const std::shared_ptr<LoopInbox> inbox = inbox_;
  inbox->Post(std::move(work));
}

void Connection::TellOfStream(const std::shared_ptr<ServerStream>& stream) {
  if (inbox_->OnLoopThread()) return OnStreamChanged(*stream);
  inbox_->Post({.kind = LoopPost::Kind::kStreamNews,
                .connection = shared_from_this(),
                .number = 0,
                .answer = {{}, stream, false, {}},
                .sent = 0,
                .socket = {},
                .peer_address = {}});
}

void Connection::OnStreamChanged(ServerStream& stream) {
  if (closed_) stream.Close();
  stream.TellIfClosed();
  if (!closed_) loop_.MarkDirty(*this);
}

void Connection::OnEvents(std::uint32_t events) {
  if (closed_) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return Close();
  if ((events & EPOLLIN) != 0) Receive();
  if (!closed_) loop_.MarkDirty(*this);
}

void Connection::Receive() {
  const std::span<char> buffer = loop_.read_buffer();
  std::size_t read = 0;
  switch (channel_.Read(buffer, read)) {
    case Channel::Outcome::kWouldBlock:
      return;
    case Channel::Outcome::kBroken:
      return Close();
    case Channel::Outcome::kEnd:
      // A client that reads a stream or has to send the rest of a body is gone if it ends its side.
      // Others may still want their answers.
      if (lingering_ || streaming() || upload_ != nullptr) return Close();
      peer_ended_ = stop_reading_ = true;
      return;
    case Channel::Outcome::kOk:
      break;
  }
  LoopCounters::Add(loop_.counters().bytes_received, read);
  received_ = true;
  body_bytes_ += read;
  if (!stop_reading_) Process({buffer.data(), read});
}

void Connection::Process(std::string_view bytes) {
  if (!unread_.empty()) {
    unread_ += bytes;
    bytes = unread_;
  }
  bool going = !bytes.empty() || upload_ != nullptr || std::exchange(unpacking_, false);
  while (going && !stop_reading_ && HasRoom() && loop_.MayTakeRequest(*this)) {
    going = upload_ != nullptr ? ReadUpload(bytes) : ReadRequest(bytes);
  }
  if (stop_reading_) bytes = {};
  KeepUnread(bytes);
  blocked_ = !stop_reading_ && (!HasRoom() || paused || upload_full_ || unpacking_);
}

bool Connection::ReadRequest(std::string_view& bytes) {
  const RequestReader::Outcome outcome = reader_.Read(bytes, loop_.UnpackRoom());
  loop_.CountUnpacked(reader_.TakeUnpacked());
  switch (outcome) {
    case RequestReader::Outcome::kMore:
      (void)VouchForBody();
      return false;
    case RequestReader::Outcome::kPaused:
      unpacking_ = VouchForBody();
      return false;
    case RequestReader::Outcome::kRefused:
      LoopCounters::Add(loop_.counters().malformed);
      Refuse(reader_.refusal());
      return false;
    case RequestReader::Outcome::kHead:
      BeginUpload();
      return true;
    case RequestReader::Outcome::kRequest:
      Dispatch(bytes.empty());
      return !bytes.empty();
  }
  return false;
}

// `rest` may be a part of `unread_`.
void Connection::KeepUnread(std::string_view rest) {
  if (rest.empty()) {
    if (unread_.capacity() > std::string().capacity()) unread_ = {};
  } else if (unread_.empty()) {
    unread_ = rest;
  } else {
    unread_.erase(0, unread_.size() - rest.size());
  }
}

bool Connection::HasRoom() const {
  if (slots_.size() >= kPipelineMax) return false;
  const std::size_t unsent = UnsentBytes();
  if (unsent < kLittleUnsentMax) return true;
  return unsent < kUnsentMax && holder_.is_known() && !IsFull(MemoryClaim::kAnswer);
}

std::size_t Connection::UnsentBytes() const {
  std::size_t bytes = out_.empty() ? 0 : out_.bytes();
  for (const Slot& slot : slots_) bytes += slot.answer.response.Body().size();
  return bytes;
}

bool Connection::VouchForBody() {
  if (!reader_.in_body() || reader_.unproven_body() || !reader_.sender()) return true;
  if (Vouch(*reader_.sender()) != HttpCall::Vouched::kNoConnection) return true;
  Refuse(kTenantConnections);
  return false;
}

// The sender may be another than that of the request before: nobody is known on a new connection,
// and a proxy sends requests of many clients over one. So the head decides before a request is
// refused. Whatever Vouch says, the handler asks again and answers.
bool Connection::HasMemory(const ServerRequest& head, MemoryClaim claim) {
  if (!IsFull(claim)) return true;
  const Sender sender = state_->handler.SenderOf(head);
  if (sender.standing == Sender::Standing::kProbe) return true;
  if (sender.standing != Sender::Standing::kKnown) return false;
  return Vouch(sender.name) == HttpCall::Vouched::kNoConnection || !IsFull(claim);
}

void Connection::Dispatch(bool last) {
  const HeadFacts facts = reader_.facts();
  if (!facts.keep_alive || (last && state_->draining.load(std::memory_order_relaxed))) {
    stop_reading_ = true;
  }
  ServerRequest request = reader_.TakeRequest();
  Slot& slot = slots_.emplace_back();
  slot.http_1_0 = facts.http_1_0;
  slot.in_flight = true;
  const std::uint64_t number = last_number();
  LoopCounters::Add(loop_.counters().requests);
  state_->in_flight.fetch_add(1);
  const MemoryClaim claim = request.body.empty() ? MemoryClaim::kAnswer : body_claim();
  if (!HasMemory(request, claim)) {
    Deliver(number, {ProblemResponse(kOverloaded), nullptr, request.method == "HEAD", {}});
    return;
  }
  MemoryCharge body_charge;
  if (!request.body.empty()) {
    body_charge.TakeBody(memory(), claim, holder_, request.body.size());
  }
  if (MayAnswerDirectly()) direct_.store(number, std::memory_order_release);
  state_->handler.Handle(
      HttpCall(std::move(request), shared_from_this(), number, nullptr, std::move(body_charge)));
}

HttpCall::Vouched Connection::Vouch(const ClientName& client) {
  using enum HttpCall::Vouched;
  if (client.is_operator) {
    if (!holder_.is_operator) ChangeHolder(nullptr, true);
  } else if (holder_.tenant == nullptr || holder_.tenant->name != client.tenant) {
    auto account = state_->tenants.Take(client.tenant);
    if (account == nullptr) return kNoConnection;
    ChangeHolder(std::move(account), false);
  }
  if (unproven) loop_.Vouched(*this);
  return IsFull(MemoryClaim::kAnswer) ? kNoMemory : kTaken;
}

bool Connection::awaits_client() const { return slots_.empty() || awaits_body(); }

void Connection::Refuse(const HttpRefusal& refusal) {
  stop_reading_ = true;
  reader_.DropBody();
  if (upload_ != nullptr) {
    refused_upload_ = last_number();
    DropUpload();
  } else {
    slots_.emplace_back();
  }
  Slot& slot = slots_.back();
  slot.answer.response = ProblemResponse(refusal);
  slot.ready = true;
  Advance();
  loop_.MarkDirty(*this);
}

void Connection::Deliver(std::uint64_t number, ServerAnswer answer) {
  if (closed_ || number == refused_upload_) {
    if (answer.stream != nullptr) answer.stream->Close();
    return;
  }
  // Answered before the end of its body: do not wait for the rest.
  if (upload_ != nullptr && number == last_number()) DropUpload();
  Slot& slot = slots_[static_cast<std::size_t>(number - first_number_)];
  EVERSTEP_ASSERT(!slot.ready);
  // Released at the end, when the connection's account has what it covers.
  const MemoryCharge charge = std::move(answer.charge);
  slot.answer = std::move(answer);
  slot.ready = true;
  slot.body.reset();
  if (std::exchange(slot.in_flight, false)) loop_.EndRequest();
  if (ServerStream* stream = slot.answer.stream.get(); stream != nullptr) {
    LoopCounters::Add(loop_.counters().streams_begun);
    if (state_->draining.load(std::memory_order_relaxed)) stream->Finish();
  }
  Advance();
  if (charge.is_held()) Account(Held());
  loop_.MarkDirty(*this);
}

void Connection::Advance() {
  while (!slots_.empty() && slots_.front().ready) {
    Slot& slot = slots_.front();
    if (slot.answer.stream != nullptr) {
      if (!WriteStream(slot)) return;
    } else {
      WriteAnswer(slot);
    }
    PopSlot();
  }
}

void Connection::WriteAnswer(Slot& slot) {
  ServerResponse& response = slot.answer.response;
  const ResponseFraming framing = {.head_only = slot.answer.head_only,
                                   .stream = false,
                                   .http_1_0 = slot.http_1_0,
                                   .close = stop_reading_ && slots_.size() == 1};
  AppendResponseHead(response, framing, DateLineNow(), out_.Tail());
  if (framing.head_only || !HasBody(response.status)) return;
  if (response.shared_body != nullptr) {
    out_.Append(std::move(response.shared_body));
  } else {
    out_.Append(std::move(response.body));
  }
}

bool Connection::WriteStream(Slot& slot) {
  ServerStream& stream = *slot.answer.stream;
  if (!std::exchange(slot.begun, true)) {
    const ResponseFraming framing = {.head_only = slot.answer.head_only,
                                     .stream = true,
                                     .http_1_0 = slot.http_1_0,
                                     .close = stop_reading_ && slots_.size() == 1};
    AppendResponseHead(slot.answer.response, framing, DateLineNow(), out_.Tail());
    slot.answer.response = {};
  }
  if (slot.answer.head_only) {
    stream.Close();
    return true;
  }
  ServerStream::Taken taken = stream.Take();
  if (!taken.bytes.empty()) {
    if (slot.http_1_0) {
      out_.Append(std::move(taken.bytes));
    } else {
      AppendChunk(std::move(taken.bytes), out_);
    }
  }
  if (!taken.ended) return false;
  if (!slot.http_1_0) out_.Tail() += "0\r\n\r\n";
  stream.Close();
  return true;
}

void Connection::PopSlot() {
  if (slots_.front().answer.stream != nullptr) LoopCounters::Add(loop_.counters().streams_gone);
  slots_.erase(slots_.begin());
  ++first_number_;
  if (slots_.empty() && slots_.capacity() > kSlotsKept) slots_.shrink_to_fit();
}

bool Connection::streaming() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.answer.stream != nullptr; });
}

void Connection::Resume() {
  if (closed_) return;
  Process({});
  loop_.MarkDirty(*this);
}

void Connection::OnDeadline(Deadline missed) {
  if (missed != Deadline::kIdle && missed != Deadline::kLinger) {
    LoopCounters::Add(loop_.counters().timeouts);
  }
  if (!channel_.established() || (missed != Deadline::kHead && missed != Deadline::kBody)) {
    return Close();
  }
  Refuse({408, "REQUEST_TIMEOUT", "the request did not arrive in time"});
}

void Connection::BeginDrain() {
  if (closed_ || lingering_) return;
  if (!stop_reading_ && !blocked_) Receive();
  if (closed_) return;
  if (!reader_.in_head() && !reader_.in_body() && unread_.empty()) stop_reading_ = true;
  for (const Slot& slot : slots_) {
    if (slot.answer.stream != nullptr) slot.answer.stream->Finish();
  }
  loop_.MarkDirty(*this);
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  gone_.store(true, std::memory_order_relaxed);
  const std::shared_ptr<ServerBody> upload = std::move(upload_);
  std::vector<Slot> slots;
  slots.swap(slots_);
  for (const Slot& slot : slots) {
    if (slot.in_flight) loop_.EndRequest();
    if (slot.answer.stream != nullptr) LoopCounters::Add(loop_.counters().streams_gone);
  }
  unread_ = {};
  out_.Clear();
  Account({});
  ChangeHolder(nullptr, false);
  loop_.Remove(*this);
  {
    const std::lock_guard lock(socket_mutex_);
    socket_closed_ = true;
    channel_.Close();
  }
  if (upload != nullptr) upload->Break();
  for (const Slot& slot : slots) {
    if (slot.answer.stream != nullptr) slot.answer.stream->Close();
  }
}

}  // namespace everstep
