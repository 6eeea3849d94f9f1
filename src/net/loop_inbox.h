#pragma once

#include <cstdint>
#include <functional>
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

// What another thread has for a loop: an answer, what makes one, word of one that it has sent, a
// stream with news, room for the body that a connection reads, or a new socket.
struct LoopPost {
  enum class Kind : std::uint8_t { kAnswer, kWork, kSent, kStreamNews, kBodyRoom, kSocket };
  Kind kind = Kind::kAnswer;
  std::shared_ptr<HttpCall::Connection> connection;
  std::uint64_t number = 0;
  ServerAnswer answer;
  std::function<void()> work;
  std::size_t sent = 0;  // bytes of the answer; its body is the rest
  UniqueFd socket;
  std::string peer_address;
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
  void Wake();
  // True: called on the loop's own thread, where connections may be used directly.
  bool OnLoopThread() const;

  // The loop.
  int wake_fd() const { return wake_.get(); }
  void BindToThread();
  // Before waiting. False: something has come, do not wait.
  bool BeginWait();
  // Ends the waiting; `posts` becomes what has come.
  void Take(std::vector<LoopPost>& posts);
  void Close();

 private:
  void WriteWake();

  const UniqueFd wake_;
  std::mutex mutex_;
  std::vector<LoopPost> posts_;
  bool waiting_ = false;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace everstep
