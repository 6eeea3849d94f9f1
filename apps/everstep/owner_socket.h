#pragma once

#include <memory>

#include "alert_board.h"
#include "data_folder.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

// The Unix stream socket DATA/owner.sock, accessible to its user only. On it the process that owns
// the store serves other processes (visitors): it runs their command lines on its own engine.
//
// Both sides send frames: four bytes length (little-endian, of what follows, at most 64 MiB), one
// byte kind, the content. The owner sends first:
//
//   h  hello       {"everstep":1,"process":4711}: the protocol version and the owner's process id
//
// The visitor then sends one request, and may send further frames while it is answered:
//
//   q  request     {"command":"show","words":["r1"],"body":"","columns":80,"rows":24,
//                   "terminal":true,"colours":true,"utf8":true}: the words after the name of the
//                  command, the body from StoreCommand::prepare, and the look of the visitor's
//                  standard output
//   i  interrupt   empty; each is one Ctrl-C
//   w  window      {"columns":100,"rows":40}: the new size
//
// The owner answers with any number of o, e and b, and with one x unless it ends before the command
// does:
//
//   o  output      bytes for standard output
//   e  error       bytes for standard error
//   b  body        the body for the visitor to continue with, by itself or with the next owner
//   x  exit        {"code":0}, the last frame
//
// Both sides compare the user id of the peer and close connections of other users. Visitors beyond
// kVisitorsMax get an error.
class OwnerSocket {
 public:
  static constexpr std::size_t kVisitorsMax = 32;
  static constexpr std::uint64_t kProtocol = 1;

  // Requires: the caller owns the store of `folder`; an existing socket is stale and is replaced.
  // `engine` and `alerts`, the alerts of that engine, must outlive the object. Fails with kStoreIo.
  static Result<std::unique_ptr<OwnerSocket>> Listen(const Folder& folder, Engine& engine,
                                                     AlertBoard& alerts);
  // Accepts no more visitors. Interrupts commands that wait for something; lets others finish.
  virtual ~OwnerSocket() = default;
};

}  // namespace everstep::cli
