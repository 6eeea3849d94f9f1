#include "data_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/disk_error.h"
#include "base/unique_fd.h"

namespace everstep::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kUserOnly = 0700;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the start of the command line, such as "everstep run plan.yaml", or "" if it cannot be
// read.
std::string CommandLineOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) c = c == '\0' ? ' ' : c;
  constexpr std::size_t kShown = 120;
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

// Returns "process 4711 (everstep run plan.yaml)".
std::string ProcessText(int process) {
  const std::string line = CommandLineOf(process);
  return "process " + std::to_string(process) + (line.empty() ? "" : " (" + line + ")");
}

constexpr std::string_view kStoreNote =
    "The directory `store` beside this file was created. While this file is here, a missing store\n"
    "is an error: restore a backup of it. Remove this file to begin with an empty store.\n";

}  // namespace

Result<Folder> Folder::Find(const Arguments& arguments) {
  if (arguments.Has(kFolderOption.name)) {
    if (arguments.Text(kFolderOption.name).empty()) {
      return Error{ErrorCode::kInvalidArgument, "--data is empty; it must name a folder", {}};
    }
    return Folder(arguments.Text(kFolderOption.name));
  }
  if (const std::string named = Variable("EVERSTEP_DATA"); !named.empty()) return Folder(named);
  // XDG base directories: a relative path counts as not set.
  if (const std::string state = Variable("XDG_STATE_HOME"); state.starts_with('/')) {
    return Folder(state + "/everstep");
  }
  if (const std::string home = Variable("HOME"); !home.empty()) {
    return Folder(home + "/.local/state/everstep");
  }
  return Error{ErrorCode::kInvalidArgument,
               "no data folder: give --data DIR, or set EVERSTEP_DATA or HOME",
               {}};
}

Status Folder::Make() const {
  std::error_code failed;
  if (fs::exists(path_, failed)) return Ok();
  fs::create_directories(path_, failed);
  if (!failed && chmod(path_.c_str(), kUserOnly) == 0) return Ok();
  const std::string reason = failed ? failed.message() : std::strerror(errno);
  return Error{ErrorCode::kStoreIo, path_ + ": " + reason, {}};
}

EngineOptions Folder::Options() const {
  EngineOptions options;
  options.log.directory = store();
  options.tools.artifact_directory = artifacts();
  options.tools.secrets_file = secrets();
  return options;
}

Result<DirectoryLock> Folder::Own() const {
  auto lock = DirectoryLock::Take(path_);
  if (lock || lock.error().code != ErrorCode::kStoreLocked) return lock;
  Error error{ErrorCode::kStoreLocked, path_ + ": another process owns the data folder", {}};
  if (const int process = DirectoryLockOwner(path_); process != 0) {
    error.message = path_ + ": " + ProcessText(process) + " owns the data folder";
  }
  return WithOwner(std::move(error), store());
}

int Folder::Owner() const {
  const int process = DirectoryLockOwner(path_);
  return process != 0 ? process : DirectoryLockOwner(store());
}

bool Folder::Owned() const { return DirectoryLockHeld(path_) || DirectoryLockHeld(store()); }

bool Folder::HadStore() const {
  std::error_code failed;
  return fs::exists(store_marker(), failed);
}

Status Folder::NoteStore() const {
  if (HadStore()) return Ok();
  const auto failed = [this] { return DiskError(store_marker(), errno); };
  const UniqueFd file(::open(store_marker().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failed();
  const ssize_t written = ::write(file.get(), kStoreNote.data(), kStoreNote.size());
  if (written != static_cast<ssize_t>(kStoreNote.size())) return failed();
  if (::fsync(file.get()) != 0) return failed();
  const UniqueFd folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return failed();
  return Ok();
}

Error Folder::Explain(Error error) const {
  if (error.code != ErrorCode::kStoreNotFound || !HadStore()) return error;
  error.message = store() + ": the store is missing, but this folder has had one. Restore a " +
                  "backup: everstep log restore BACKUP --store " + store() +
                  ". To begin with an empty store instead, remove " + store_marker();
  return error;
}

Error WithOwner(Error error, const std::string& store) {
  if (error.code != ErrorCode::kStoreLocked) return error;
  const int process = DirectoryLockOwner(store);
  if (process == 0) return error;
  error.message = store + ": " + ProcessText(process) + " owns the store";
  return error;
}

}  // namespace everstep::cli
