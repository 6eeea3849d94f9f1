#pragma once

#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"
#include "net/event_target.h"

namespace everstep {

// Whether it is "host:port" or "[v6 address]:port". kInvalidArgument.
Status CheckListenAddress(const std::string& where);

// Listens at such an address; port 0: any. `address` becomes where it listens, in the same form.
// kInvalidArgument: it is none, or this machine has no such address. kAddressInUse.
Result<UniqueFd> ListenAt(const std::string& where, std::string& address);

// Takes new connections from a listening socket. One thread.
class Acceptor final : public EventTarget {
 public:
  // With the socket, which does not block, and the address of the other side.
  using Accepted = std::function<void(UniqueFd socket, std::string peer_address)>;

  Acceptor(UniqueFd listener, Accepted accepted);

  void OnEvents(std::uint32_t events) override;

 private:
  void DropOne();

  const UniqueFd listener_;
  const Accepted accepted_;
  UniqueFd spare_;  // given up for a moment when the process has no descriptor left
};

}  // namespace everstep
