#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace everstep {

// The bytes of one streamed answer between those who write it and the connection that sends it.
// Writers may be on any thread; the connection's functions are called on its loop's.
class ServerStream {
 public:
  using Changed = std::function<void()>;

  explicit ServerStream(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // Writers. `wake`: the connection must be told, it has not been yet.
  bool Write(std::string_view piece, bool& wake);
  void End(bool& wake);
  // The writer has gone without an end.
  void Abandon(bool& wake);
  void OnChange(Changed changed, bool& wake);
  std::size_t queued() const;
  bool closed() const;

  // The connection.
  struct Taken {
    std::string bytes;
    bool ended = false;
  };
  Taken Take();
  // Ends it from the server's side, with what was written so far.
  void Finish();
  struct Fate {
    bool broken = false;   // abandoned: no end can be written
    bool cut_off = false;  // too far behind
  };
  Fate fate() const;
  // How many bytes the connection holds for it. Calls `changed` when the last is gone.
  void SetUnsent(std::size_t bytes);
  // Nothing can be sent any more. Calls `changed` once if the writer did not end it.
  void Close();
  // Calls a `changed` that came after Close.
  void TellIfClosed();

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> unsent_ = 0;
  mutable std::mutex mutex_;
  std::string pending_;
  std::shared_ptr<const Changed> changed_;
  bool touched_ = false;
  bool ended_ = false;         // nothing more is written
  bool writer_ended_ = false;  // and the writer knows
  bool broken_ = false;
  bool cut_off_ = false;
  bool closed_ = false;
  bool told_ = false;
};

}  // namespace everstep
