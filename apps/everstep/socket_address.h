#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "everstep/result.h"

namespace everstep::cli {

// The address of a socket in the file system, for paths of any length: a path that does not fit
// into sockaddr_un goes through an open handle of its folder, which is closed with the object.
class SocketAddress {
 public:
  // Fails with kStoreIo if the folder cannot be opened.
  static Result<SocketAddress> Of(const std::string& path);
  SocketAddress(SocketAddress&& other) noexcept;
  SocketAddress& operator=(SocketAddress&&) = delete;
  ~SocketAddress();

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return sizeof(address_); }

 private:
  SocketAddress() = default;

  sockaddr_un address_{};
  int folder_ = -1;
};

// Returns whether the process at the other end runs as the same user as this one.
bool PeerIsSameUser(int socket);

}  // namespace everstep::cli
