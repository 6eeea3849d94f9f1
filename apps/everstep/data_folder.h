#pragma once

#include <string>

#include "arguments.h"
#include "everstep/engine.h"
#include "everstep/result.h"
#include "store/directory_lock.h"

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
  std::string store_marker() const { return path_ + "/has-store"; }

  // Creates the folder, accessible to its user only, if it does not exist.
  Status Make() const;

  // Returns the options to open an engine on this folder.
  EngineOptions Options() const;

  // Makes this process the owner of the folder until the lock is gone. The store has a lock of its
  // own, but it goes with the store's directory when that is moved. kStoreLocked names the owner.
  Result<DirectoryLock> Own() const;

  // Returns the process that owns the folder or has its store open for writing; 0 if there is none
  // or it is not visible.
  int Owner() const;
  bool Owned() const;

  // Whether the folder has had a store: it has a file that says so. A store that is missing then is
  // lost, not new.
  bool HadStore() const;
  // Durably creates that file if it does not exist.
  Status NoteStore() const;
  // Returns `error`; STORE_NOT_FOUND says what to do if the folder has had a store.
  Error Explain(Error error) const;

 private:
  std::string path_;
};

// Returns `error`; for STORE_LOCKED, the message names the process that owns the store if known.
Error WithOwner(Error error, const std::string& store);

}  // namespace everstep::cli
