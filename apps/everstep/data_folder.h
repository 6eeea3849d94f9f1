#pragma once

#include <string>

#include "arguments.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

inline constexpr OptionSpec kFolderOption{
    "data", OptionKind::kText, "DIR",
    "the data folder [default: $EVERSTEP_DATA, else the XDG state folder]"};

// One folder for all that runs leave on this machine: the store, artifacts, secrets, and the socket
// on which the process that has the store open answers others.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  // --data, else $EVERSTEP_DATA, else $XDG_STATE_HOME/everstep, else ~/.local/state/everstep.
  // kInvalidArgument when none of these is known.
  static Result<Folder> Find(const Arguments& arguments);

  const std::string& path() const { return path_; }
  std::string store() const { return path_ + "/store"; }
  std::string artifacts() const { return path_ + "/artifacts"; }
  std::string secrets() const { return path_ + "/secrets"; }
  std::string socket() const { return path_ + "/owner.sock"; }

  // Makes it, for its user only, if it is not there.
  Status Make() const;

  // What an engine on it is opened with.
  EngineOptions Options() const;

  // The process that has the store open to write; zero: none, or it cannot be seen.
  int Owner() const;
  bool Owned() const;

 private:
  std::string path_;
};

// The same error; STORE_LOCKED says which process it is.
Error WithOwner(Error error, const std::string& store);

}  // namespace everstep::cli
