#pragma once

#include <string>

#include "arguments.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

inline constexpr OptionSpec kFolderOption{
    "data", OptionKind::kText, "DIR",
    "the data folder [default: $EVERSTEP_DATA, else the XDG state folder]"};

// The folder with everything that runs keep on this machine: the store, artifacts, secrets, and the
// socket on which the process that has the store open serves other processes.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  // --data, else $EVERSTEP_DATA, else $XDG_STATE_HOME/everstep, else ~/.local/state/everstep.
  // Fails with kInvalidArgument if none of these is set.
  static Result<Folder> Find(const Arguments& arguments);

  const std::string& path() const { return path_; }
  std::string store() const { return path_ + "/store"; }
  std::string artifacts() const { return path_ + "/artifacts"; }
  std::string secrets() const { return path_ + "/secrets"; }
  std::string socket() const { return path_ + "/owner.sock"; }

  // Creates the folder, accessible to its user only, if it does not exist.
  Status Make() const;

  // Returns the options to open an engine on this folder.
  EngineOptions Options() const;

  // Returns the process that has the store open for writing; 0 if there is none or it is not
  // visible.
  int Owner() const;
  bool Owned() const;

 private:
  std::string path_;
};

// Returns `error`; for STORE_LOCKED, the message names the process that owns the store if known.
Error WithOwner(Error error, const std::string& store);

}  // namespace everstep::cli
