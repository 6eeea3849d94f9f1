#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data_folder.h"
#include "everstep/client.h"
#include "serve/settings.h"

namespace everstep::cli {

// What a check of a folder, a machine or a server has found.
struct Finding {
  enum class Verdict : std::uint8_t { kOk, kWarn, kFail };
  Verdict verdict = Verdict::kOk;
  std::string subject;  // "disk"
  std::string text;     // what is the case
  std::string remedy;   // what to do; empty if it is well
};

// Each looks at one thing and changes nothing, but for a file that CheckSyncs makes and removes.
std::vector<Finding> CheckFiles(const Folder& folder);  // permissions
Finding CheckDisk(const Folder& folder, const ServerOptions& options);
Finding CheckSyncs(const Folder& folder);
Finding CheckStore(const Folder& folder);
Finding CheckHandles(const ServerOptions& options);
Finding CheckClock(const Folder& folder);  // and the times in the store
Finding CheckTls(const ServerOptions& options);
Finding CheckAudit(const Folder& folder);
// One that has the folder open.
Finding CheckServer(const Folder& folder, const ServerOptions& options);
// The one that commands are to ask, and their token.
Finding CheckServer(const ClientOptions& options);

}  // namespace everstep::cli
