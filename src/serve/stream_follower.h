#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "net/http_server.h"
#include "queue/run_streams.h"
#include "serve/party_shares.h"

namespace everstep {

// Sends a stream's chunks as server-sent events, starting at an index and following the stream:
// "id:" is the index, "data:" the chunk in base64; "event: end" follows the last one. Reads no more
// until the client has drained what was sent. Reads on the threads that `later` gives it, not on
// those that write the stream or serve the socket.
class StreamFollower final : public std::enable_shared_from_this<StreamFollower> {
 public:
  using Later = std::function<void(std::function<void()>)>;  // runs the work, or drops it

  StreamFollower(RunStreams& streams, StreamName name, std::uint64_t from,
                 std::shared_ptr<ReplyStream> reply, PartyShares::Share share, Later later)
      : streams_(streams),
        name_(std::move(name)),
        next_(from),
        share_(std::move(share)),
        later_(std::move(later)),
        reply_(std::move(reply)) {}

  // Keeps itself alive until the stream ends or the client disconnects.
  void Begin();

 private:
  class Turn;

  // Has what is due sent. Thread-safe: one thread works, others only make it check again.
  void GoOn();
  void TakeTurn();
  void Work();
  // Returns false if the stream has ended or the client has disconnected.
  bool SendAll();
  void Finish();

  RunStreams& streams_;
  const StreamName name_;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<bool> waiting_{false};  // for the stream to grow
  std::atomic<bool> woken_{false};    // the stream has grown, or the wait has timed out
  std::uint64_t next_;                // used only by the working thread, like the next three
  bool over_ = false;
  PartyShares::Share share_;              // of the tenant's stream limit, until it is over
  std::shared_ptr<StreamFollower> self_;  // keeps it alive until it is over
  const Later later_;
  const std::shared_ptr<ReplyStream> reply_;
};

}  // namespace everstep
