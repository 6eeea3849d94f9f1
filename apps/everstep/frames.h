#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep::cli {

// A message on the owner's socket; see owner_socket.h.
struct Frame {
  enum class Kind : char {
    // From the owner.
    kHello = 'h',
    kOutput = 'o',
    kError = 'e',
    kBody = 'b',
    kExit = 'x',
    // From the visitor.
    kRequest = 'q',
    kInterrupt = 'i',
    kWindow = 'w',
  };
  Kind kind;
  std::string content;
};

inline constexpr std::size_t kFrameBytesMax = 64 << 20;

// Sends the whole frame. Returns 0 or an errno. A peer that reads nothing for the send timeout of
// the socket counts as gone.
int SendFrame(int socket, Frame::Kind kind, std::string_view content);

// Splits the received bytes into frames. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(int socket) : socket_(socket) {}

  // Reads what has arrived, without waiting. Returns false if the peer is gone or sent an invalid
  // frame; frames that arrived before can still be taken.
  bool Receive();
  std::optional<Frame> Take();

 private:
  int socket_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace everstep::cli
