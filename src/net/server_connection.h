#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/channel.h"
#include "net/deadlines.h"
#include "net/event_target.h"
#include "net/loop_inbox.h"
#include "net/output_queue.h"
#include "net/request_reader.h"
#include "net/server_body.h"
#include "net/server_state.h"

namespace everstep {

class IoLoop;

// A connection of the server: reads requests, hands them to the handler, and writes the answers in
// the order of the requests. Belongs to one loop and is used on its thread, except for functions
// marked "any thread". Calls and streams may outlive the loop; they then do nothing.
class HttpCall::Connection final : public std::enable_shared_from_this<HttpCall::Connection>,
                                   public EventTarget,
                                   public DeadlineLink {
 public:
  Connection(IoLoop& loop, UniqueFd socket, std::string_view peer_address);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Any thread.
  void Answer(std::uint64_t number, ServerAnswer answer);
  void AnswerBy(std::uint64_t number, std::unique_ptr<AnswerWork> work);
  void TellOfStream(const std::shared_ptr<ServerStream>& stream);
  void TellOfRoom();
  std::size_t gzip_bytes_min() const { return state_->options.gzip_bytes_min; }
  std::shared_ptr<MemoryAccount> memory() const { return {state_, &state_->memory}; }
  std::size_t stream_bytes_max() const { return state_->options.stream_bytes_max; }

  // On the loop's thread.
  void OnEvents(std::uint32_t events) override;
  void Deliver(std::uint64_t number, ServerAnswer answer);
  void OnStreamChanged(ServerStream& stream);
  void OnRoomForBody();
  // Another thread has sent `sent` bytes of the answer to the first request; `rest` remains.
  void OnAnswerSent(std::uint64_t number, std::size_t sent, std::string rest);
  // Answers with the refusal and closes the connection.
  void Refuse(const HttpRefusal& refusal);
  // See HttpCall::Vouch. On the loop's thread.
  HttpCall::Vouched Vouch(const ClientName& client);
  const MemoryHolder& holder() const { return holder_; }
  bool is_gone() const { return gone_.load(std::memory_order_relaxed); }  // any thread
  // Whether the client has to act next.
  bool awaits_client() const;
  // Continues with what was read before reading stopped.
  void Resume();
  // Called once per round if anything happened. PrepareFlush gathers what there is to write.
  // FinishFlush writes it and decides what to wait for next.
  void PrepareFlush();
  void FinishFlush();
  // Between the two the loop may send these bytes, from the front of what there is to write, and
  // report that with OnBytesWritten. Empty: nothing may be sent that way.
  std::string_view SendableBytes() const;
  void OnBytesWritten(std::size_t bytes);
  void OnDeadline(Deadline missed);
  // Takes what has arrived, and no more.
  void BeginDrain();
  void Close();

  int fd() const { return channel_.fd(); }
  const std::string& peer_address() const { return peer_address_; }
  bool lingering() const { return lingering_; }

  // Bookkeeping of the loop.
  std::size_t index = 0;  // among its connections
  bool dirty = false;     // to be flushed
  bool paused = false;    // waits until fewer requests are in flight
  bool counted = true;    // counts towards connections_max
  // The place among the connections of clients that are not authenticated; nothing: the client is.
  std::optional<std::list<Connection*>::iterator> unproven;

 private:
  static constexpr HttpRefusal kOverloaded = {503, "OVERLOADED",
                                              "the memory for requests is full; retry later"};
  static constexpr HttpRefusal kTenantConnections = {
      503, "TOO_MANY_CONNECTIONS", "the tenant has used up its share of the connections"};

  // A request that is not completely answered.
  struct Slot {
    ServerAnswer answer;
    std::shared_ptr<ServerBody> body;          // streamed, until the request is answered
    MemoryClaim claim = MemoryClaim::kAnswer;  // of that body
    bool in_flight = false;                    // the whole request has arrived, but not its answer
    bool ready = false;
    bool begun = false;  // the head of its stream was written
    bool http_1_0 = false;
  };

  void Receive();
  void Process(std::string_view bytes);
  // False: there is nothing to continue with.
  bool ReadRequest(std::string_view& bytes);
  void KeepUnread(std::string_view rest);
  // Charges the connection to the client that sends the body. False: it was refused.
  bool VouchForBody();
  // Whether there is memory for the request, and for its body if it has one.
  bool HasMemory(const ServerRequest& head, MemoryClaim claim);
  void Dispatch(bool last);
  void BeginUpload();
  bool ReadUpload(std::string_view& bytes);
  void FinishUpload(bool last);
  // Drops the rest of the body, which is no longer needed.
  void DropUpload();
  // Whether the client has to send the rest of a body.
  bool awaits_body() const;
  std::uint64_t last_number() const { return first_number_ + slots_.size() - 1; }
  // Whether there is room for another request on this connection.
  bool HasRoom() const;
  // Bytes of answers that the client has not taken.
  std::size_t UnsentBytes() const;
  bool IsFull(MemoryClaim claim) const { return state_->memory.IsFull(claim, holder_); }
  // The claim of the body that is being read, or was read last.
  MemoryClaim body_claim() const {
    return reader_.unproven_body() ? MemoryClaim::kUnprovenBody : MemoryClaim::kBody;
  }
  // Whether any thread may send the answer to the request that was taken last.
  bool MayAnswerDirectly() const;
  bool IsDirect(std::uint64_t number) const;                              // any thread
  void AnswerDirectly(std::uint64_t number, const ServerAnswer& answer);  // any thread
  void Advance();
  void WriteAnswer(Slot& slot);
  // False: the stream continues.
  bool WriteStream(Slot& slot);
  void PopSlot();
  bool BreakStreams();
  bool Send();
  void SettleStream();
  void SettleReading();
  void SettleEnd();
  void SettleInterest();
  void SettleDeadline();
  bool IsFastEnough() const;
  HeldBytes Held() const;
  void SettleMemory();
  bool HoldsTooMuch() const;
  void Account(const HeldBytes& held);
  // Moves the connection and its bytes to another holder. Null: no tenant.
  void ChangeHolder(std::shared_ptr<TenantAccount> tenant, bool is_operator);
  bool streaming() const;

  IoLoop& loop_;
  const std::shared_ptr<ServerState> state_;
  const std::shared_ptr<LoopInbox> inbox_;
  const std::string peer_address_;
  Channel channel_;
  std::mutex socket_mutex_;     // held to close the socket, and to send on another thread
  bool socket_closed_ = false;  // guarded by socket_mutex_
  std::atomic<std::uint64_t> direct_{UINT64_MAX};  // the request that may be answered directly
  RequestReader reader_;
  OutputQueue out_;
  std::string unread_;  // bytes that were received and not yet consumed by the reader
  std::vector<Slot> slots_;
  std::uint64_t first_number_ = 0;  // of the first slot
  HeldBytes accounted_;             // part of state_->memory, and of the holder's
  MemoryHolder holder_;
  std::shared_ptr<ServerBody> upload_;           // of the last slot, while it arrives; null: none
  std::optional<std::uint64_t> refused_upload_;  // answered here; the handler may not know
  std::uint32_t interest_;
  bool stop_reading_ = false;   // no further request is taken
  bool blocked_ = false;        // not read until there is room
  bool upload_full_ = false;    // not read until the handler has taken some
  bool unpacking_ = false;      // not read until more of the body is unpacked, in the next round
  std::size_t body_bytes_ = 0;  // received since the deadline of the body was set
  bool peer_ended_ = false;
  bool lingering_ = false;  // all is written; waits for the peer to see it
  bool closed_ = false;
  std::atomic<bool> gone_ = false;  // `closed_`, for other threads
  bool received_ = false;           // something was received in this round
  bool sent_ = false;
};

}  // namespace everstep
