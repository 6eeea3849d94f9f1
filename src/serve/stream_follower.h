#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "net/http_server.h"
#include "queue/run_streams.h"
#include "serve/party_shares.h"

namespace everstep {

// Sends a stream's chunks as server-sent events, from an index on and as they come: "id:" is the
// index, "data:" the chunk in base64; "event: end" follows the last. Reads no more while the client
// has not taken what was sent.
class StreamFollower final : public std::enable_shared_from_this<StreamFollower> {
 public:
  StreamFollower(RunStreams& streams, StreamName name, std::uint64_t from,
                 std::shared_ptr<ReplyStream> reply, PartyShares::Share share)
      : streams_(streams),
        name_(std::move(name)),
        next_(from),
        share_(std::move(share)),
        reply_(std::move(reply)) {}

  // Goes on by itself until the stream or the client ends.
  void Begin();

 private:
  // Looks what is to be done. From any thread; one works, the others tell it to look again.
  void GoOn();
  void Work();
  // False: the stream has ended, or the client has.
  bool SendAll();
  void Finish();

  RunStreams& streams_;
  const StreamName name_;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<bool> waiting_{false};  // for the stream to grow
  std::atomic<bool> woken_{false};    // it has grown, or nothing has come for a while
  std::uint64_t next_;                // of who works, as the next three
  bool over_ = false;
  PartyShares::Share share_;  // of the streams that the tenant may follow, until it is over
  std::shared_ptr<StreamFollower> self_;  // until it is over
  const std::shared_ptr<ReplyStream> reply_;
};

}  // namespace everstep
