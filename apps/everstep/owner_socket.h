#pragma once

#include <memory>

#include "alert_board.h"
#include "data_folder.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

// The socket DATA/owner.sock (a Unix stream socket, for its user only), on which the process that
// owns the store answers others: it runs their command lines on its own engine.
//
// Both sides send frames: four bytes length (little-endian, of what follows, at most 64 MiB), one
// byte kind, the content. The owner begins:
//
//   h  hello       {"everstep":1,"process":4711}; the number is the protocol's
//
// then the visitor asks once, and may go on talking while it is answered:
//
//   q  request     {"command":"show","words":["r1"],"body":"","columns":80,"rows":24,
//                   "terminal":true,"colours":true,"utf8":true}: the command line behind the
//                  command's name, what StoreCommand::prepare made of it, and the look of the
//                  visitor's standard output
//   i  interrupt   nothing; each is one Ctrl-C
//   w  window      {"columns":100,"rows":40}: its size has changed
//
// and the owner answers with any number of o, e and b, and with one x unless it ends before the
// command does:
//
//   o  output      bytes for standard output
//   e  error       bytes for standard error
//   b  body        the body with which the visitor is to go on by itself, or with the next owner
//   x  exit        {"code":0}, the last frame
//
// The peer's user id is compared on both sides; another user's connection is closed. Beyond
// kVisitorsMax connections the answer is an error.
class OwnerSocket {
 public:
  static constexpr std::size_t kVisitorsMax = 32;
  static constexpr std::uint64_t kProtocol = 1;

  // The caller owns the store of `folder`, so a socket that is there belongs to nobody. `engine`
  // and `alerts`, which are the engine's, must outlive the object. kStoreIo.
  static Result<std::unique_ptr<OwnerSocket>> Listen(const Folder& folder, Engine& engine,
                                                     AlertBoard& alerts);
  // Takes no more visitors; commands that wait for something are broken off, others are finished.
  virtual ~OwnerSocket() = default;
};

}  // namespace everstep::cli
