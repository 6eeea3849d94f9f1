#pragma once

#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"
#include "net/event_target.h"

namespace everstep {

// Checks that `where` is "host:port" or "[v6 address]:port". kInvalidArgument.
Status CheckListenAddress(const std::string& where);

// Listens at an address of that form; port 0 means any free port. Sets `address` to the bound
// address, in the same form. kInvalidArgument if `where` is malformed or not an address of this
// machine; kAddressInUse.
Result<UniqueFd> ListenAt(const std::string& where, std::string& address);

// Accepts new connections from a listening socket. Used by one thread.
class Acceptor final : public EventTarget {
 public:
  // Called with the non-blocking socket and the address of the peer.
  using Accepted = std::function<void(UniqueFd socket, std::string peer_address)>;

  Acceptor(UniqueFd listener, Accepted accepted);

  void OnEvents(std::uint32_t events) override;

 private:
  void DropOne();

  const UniqueFd listener_;
  const Accepted accepted_;
  UniqueFd spare_;  // closed for a moment when the process is out of descriptors
};

}  // namespace everstep
