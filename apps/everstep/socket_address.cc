#include "socket_address.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/assert.h"

namespace everstep::cli {

Result<SocketAddress> SocketAddress::Of(const std::string& path) {
  SocketAddress made;
  made.address_.sun_family = AF_UNIX;
  std::string shown = path;
  if (shown.size() >= sizeof(made.address_.sun_path)) {
    const std::filesystem::path whole(path);
    made.folder_ = open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (made.folder_ < 0) return Error{ErrorCode::kStoreIo, path + ": " + std::strerror(errno), {}};
    shown = "/proc/self/fd/" + std::to_string(made.folder_) + "/" + whole.filename().string();
  }
  EVERSTEP_ASSERT(shown.size() < sizeof(made.address_.sun_path));
  std::memcpy(made.address_.sun_path, shown.c_str(), shown.size() + 1);
  return made;
}

SocketAddress::SocketAddress(SocketAddress&& other) noexcept
    : address_(other.address_), folder_(std::exchange(other.folder_, -1)) {}

SocketAddress::~SocketAddress() {
  if (folder_ >= 0) close(folder_);
}

bool PeerIsSameUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace everstep::cli
