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
};

// What another thread has for a loop: an answer, word of one that it has sent, a stream with news,
// room for the body that a connection reads, or a new socket.
struct LoopPost {
  enum class Kind : std::uint8_t { kAnswer, kSent, kStreamNews, kBodyRoom, kSocket };
  Kind kind = Kind::kAnswer;
  std::shared_ptr<HttpCall::Connection> connection;
  std::uint64_t number = 0;
  ServerAnswer answer;
  std::size_t sent = 0;  // bytes of the answer; its body is the rest
  UniqueFd socket;
  std::string peer_address;
};

// What has come for a loop. What makes an answer is apart: under load there is one for each
// request, and most of a LoopPost would be empty.
struct LoopMail {
  std::vector<LoopPost> posts;
  std::vector<std::unique_ptr<AnswerWork>> works;

  bool empty() const { return posts.empty() && works.empty(); }
};

// How other threads reach a loop. Outlives it: calls may be answered when the server has gone,
// which then does nothing. Thread-safe but for what is said.
class LoopInbox {
 public:
  LoopInbox();
  LoopInbox(const LoopInbox&) = delete;
  LoopInbox& operator=(const LoopInbox&) = delete;

  enum class Urgency : std::uint8_t { kNow, kCanWait };
  // False: the loop has ended, nothing is done. Wakes the loop if it waits: once for all that is
  // posted until it has woken up. What can wait does so until the loop is awake.
  bool Post(LoopPost post, Urgency urgency = Urgency::kNow);
  bool Post(std::unique_ptr<AnswerWork> work);
  void Wake();
  // True: called on the loop's own thread, where connections may be used directly.
  bool OnLoopThread() const;

  // The loop.
  int wake_fd() const { return wake_.get(); }
  void BindToThread();
  // Before waiting. False: something has come, do not wait.
  bool BeginWait();
  // Ends the waiting; `mail`, which is empty, becomes what has come.
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
