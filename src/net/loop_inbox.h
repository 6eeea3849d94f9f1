#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/http_server.h"
#include "net/server_stream.h"

namespace everstep {

// An answer on its way to its connection.
struct ServerAnswer {
  ServerResponse response;
  std::shared_ptr<ServerStream> stream;  // the body, if it is streamed
  bool head_only = false;
  MemoryCharge charge{};  // of a large body, until the connection has it among what it sends
};

// A message from another thread to a loop: an answer, notice of an answer that the thread has sent
// itself, a stream that has changed, room for the body that a connection reads, or a new socket.
struct LoopPost {
  enum class Kind : std::uint8_t { kAnswer, kSent, kStreamNews, kBodyRoom, kSocket };
  Kind kind = Kind::kAnswer;
  std::shared_ptr<HttpCall::Connection> connection;
  std::uint64_t number = 0;
  ServerAnswer answer;
  std::size_t sent = 0;  // bytes of the answer already sent; its body is the rest
  UniqueFd socket;
  std::string peer_address;
};

// What has arrived for a loop. Work that makes an answer is kept apart: under load there is one for
// each request, and most of a LoopPost would be empty.
struct LoopMail {
  std::vector<LoopPost> posts;
  std::vector<std::unique_ptr<AnswerWork>> works;

  bool empty() const { return posts.empty() && works.empty(); }
};

// How other threads reach a loop. Outlives the loop: answering a call after the server is gone does
// nothing. Thread-safe unless noted otherwise.
class LoopInbox {
 public:
  LoopInbox();
  LoopInbox(const LoopInbox&) = delete;
  LoopInbox& operator=(const LoopInbox&) = delete;

  enum class Urgency : std::uint8_t { kNow, kCanWait };
  // False: the loop has ended and nothing was done. Wakes the loop if it is waiting, only once for
  // everything that is posted until it is awake. A post that can wait does not wake it.
  bool Post(LoopPost post, Urgency urgency = Urgency::kNow);
  bool Post(std::unique_ptr<AnswerWork> work);
  void Wake();
  // Whether this is the loop's own thread, where connections may be used directly.
  bool OnLoopThread() const;

  // For the loop.
  int wake_fd() const { return wake_.get(); }
  void BindToThread();
  // Must be called before waiting. False: something has arrived, do not wait.
  bool BeginWait();
  // Ends the waiting. Moves what has arrived to `mail`, which must be empty.
  void Take(LoopMail& mail);
  void Close();

 private:
  void WriteWake();

  const UniqueFd wake_;
  std::mutex mutex_;
  LoopMail mail_;
  bool waiting_ = false;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace everstep
