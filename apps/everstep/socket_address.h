#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "everstep/result.h"

namespace everstep::cli {

// The address of a socket in the file system, however long its path is: a path that the kernel's
// structure cannot hold is named through an open handle of its folder, which lives as long as this.
class SocketAddress {
 public:
  // kStoreIo: the folder cannot be opened.
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

// Does the process at the other end belong to the user of this one?
bool PeerIsSameUser(int socket);

}  // namespace everstep::cli
