#include "data_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "store/directory_lock.h"

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

int Folder::Owner() const { return DirectoryLockOwner(store()); }

bool Folder::Owned() const { return DirectoryLockHeld(store()); }

Error WithOwner(Error error, const std::string& store) {
  if (error.code != ErrorCode::kStoreLocked) return error;
  const int process = DirectoryLockOwner(store);
  if (process == 0) return error;
  error.message = store + ": process " + std::to_string(process) + " owns the store";
  if (const std::string line = CommandLineOf(process); !line.empty()) {
    error.message += " (" + line + ")";
  }
  return error;
}

}  // namespace everstep::cli
