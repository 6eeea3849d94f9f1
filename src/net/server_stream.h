#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace everstep {

// The bytes of one streamed answer, between its writers and the connection that sends it. Writers
// may be on any thread; the functions of the connection are called on its loop's thread.
class ServerStream {
 public:
  using Changed = std::function<void()>;

  explicit ServerStream(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // For writers. `wake` is set if the connection must be notified and has not been yet.
  bool Write(std::string_view piece, bool& wake);
  void End(bool& wake);
  // The writer was destroyed without ending the stream.
  void Abandon(bool& wake);
  void OnChange(Changed changed, bool& wake);
  std::size_t queued() const;
  bool closed() const;

  // For the connection.
  struct Taken {
    std::string bytes;
    bool ended = false;
  };
  Taken Take();
  // Ends the stream from the server's side, with what was written so far.
  void Finish();
  struct Fate {
    bool broken = false;   // abandoned: no end can be written
    bool cut_off = false;  // the client was too far behind
  };
  Fate fate() const;
  // Sets how many bytes the connection holds for the stream. Calls `changed` when there are none
  // left.
  void SetUnsent(std::size_t bytes);
  // Nothing can be sent any more. Calls `changed` once, unless the writer has ended the stream.
  void Close();
  // Calls a `changed` that was set after Close.
  void TellIfClosed();

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> unsent_ = 0;
  mutable std::mutex mutex_;
  std::string pending_;
  std::shared_ptr<const Changed> changed_;
  bool touched_ = false;
  bool ended_ = false;         // nothing more is written
  bool writer_ended_ = false;  // and the writer ended it
  bool broken_ = false;
  bool cut_off_ = false;
  bool closed_ = false;
  bool notified_ = false;
};

}  // namespace everstep
