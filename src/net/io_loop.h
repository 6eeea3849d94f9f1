#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/timestamp.h"
#include "net/acceptor.h"
#include "net/deadlines.h"
#include "net/event_target.h"
#include "net/loop_inbox.h"
#include "net/output_queue.h"
#include "net/send_batch.h"
#include "net/server_connection.h"
#include "net/server_state.h"

namespace everstep {

// One io thread. Waits for sockets, hands requests to the handler, and at the end of each round
// writes the answers that the round has produced. Except for Listen, Start and Join, its functions
// may be called only on its own thread, by its connections.
class IoLoop {
 public:
  using Connection = HttpCall::Connection;

  IoLoop(std::shared_ptr<ServerState> state, std::shared_ptr<LoopInbox> inbox);
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Makes this loop accept the connections of all listeners and distribute them over the loops.
  // Must be called before Start.
  void Listen(std::vector<UniqueFd> listeners);
  void Start();
  // Requires: the state says "stopping" and the inbox was woken.
  void Join() { thread_.join(); }

  const std::shared_ptr<ServerState>& state() const { return state_; }
  const std::shared_ptr<LoopInbox>& inbox() const { return inbox_; }
  LoopCounters& counters() { return counters_; }
  const LoopCounters& counters() const { return counters_; }
  BufferPool& buffers() { return buffers_; }
  std::span<char> read_buffer() { return read_buffer_; }

  void MarkDirty(Connection& connection);
  void Watch(Connection& connection, std::uint32_t events);
  void SetDeadline(Connection& connection, Deadline kind);
  // False: the limit of requests in flight is reached; the connection is resumed when there are
  // fewer.
  bool MayTakeRequest(Connection& connection);
  void EndRequest();
  void ResumeLater(Connection& connection);
  void CountLingering() { ++lingering_; }
  void Vouched(Connection& connection);
  std::chrono::steady_clock::time_point now() const { return now_; }
  // How much a connection may unpack now. Long work is done in pieces, a few in each round.
  std::size_t UnpackRoom() const { return std::min(unpack_left_, kUnpackPiece); }
  void CountUnpacked(std::size_t bytes) { unpack_left_ -= std::min(bytes, unpack_left_); }
  void Remove(Connection& connection);

 private:
  static constexpr std::size_t kReadBytes = 64 << 10;
  static constexpr int kEventsMax = 256;
  static constexpr std::size_t kUnpackPiece = 256 << 10;
  static constexpr std::size_t kUnpackRound = 4 << 20;

  void Run();
  void Round();
  int WaitMilliseconds();
  void TakeMail();
  void Deal(UniqueFd socket, std::string peer_address);
  // Refuses a connection over the limit, with an answer if that is cheap.
  void TurnAway(UniqueFd socket, const std::string& peer_address);
  // Closes the oldest connection whose client is not authenticated and has to act next. False: none
  // of the oldest connections qualifies.
  bool MakeRoom();
  void Adopt(UniqueFd socket, const std::string& peer_address, bool refused);
  void ResumeConnections();
  void ResumePaused();
  void ExpireDeadlines();
  void FlushDirty();
  void SendTogether();
  void BeginDrain();
  void ReportDrained();
  void CloseAll();

  const std::shared_ptr<ServerState> state_;
  const std::shared_ptr<LoopInbox> inbox_;
  LoopCounters counters_;
  BufferPool buffers_;
  Deadlines deadlines_;
  UniqueFd epoll_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Connection>> closed_;  // in this round: events may refer to them
  std::list<Connection*> unproven_;  // of clients that are not authenticated, oldest first
  std::vector<Connection*> dirty_;
  std::vector<Connection*> flushing_;
  std::vector<Connection*> sending_;
  SendBatch batch_;
  std::vector<std::shared_ptr<Connection>> paused_;
  std::vector<std::shared_ptr<Connection>> resumed_;
  LoopMail mail_;
  std::vector<char> read_buffer_;
  std::chrono::steady_clock::time_point now_;
  std::size_t unpack_left_ = 0;  // in this round
  std::size_t next_loop_ = 0;    // for the next connection
  std::size_t lingering_ = 0;
  std::size_t refused_open_ = 0;
  bool requests_ended_ = false;
  bool draining_ = false;
  bool drained_ = false;
  std::thread thread_;
};

}  // namespace everstep
