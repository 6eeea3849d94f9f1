#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep::cli {

// What goes over the owner's socket; see owner_socket.h.
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

// The whole frame; an errno, or zero. A reader that does not read for as long as the socket's
// timeout says is one that has gone.
int SendFrame(int socket, Frame::Kind kind, std::string_view content);

// Cuts frames out of what arrives. One thread.
class FrameReader {
 public:
  explicit FrameReader(int socket) : socket_(socket) {}

  // Takes what has arrived, waiting for nothing. False: the other side has gone, or what it says
  // is no frame; what had arrived before can still be taken.
  bool Receive();
  std::optional<Frame> Take();

 private:
  int socket_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace everstep::cli
