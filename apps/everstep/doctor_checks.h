#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data_folder.h"
#include "everstep/client.h"
#include "serve/settings.h"

namespace everstep::cli {

// The result of one check of a folder, a machine or a server.
struct Finding {
  enum class Verdict : std::uint8_t { kOk, kWarn, kFail };
  Verdict verdict = Verdict::kOk;
  std::string subject;  // "disk"
  std::string text;     // what was found
  std::string remedy;   // what to do; empty if nothing
};

// Each checks one thing and changes nothing, except that CheckSyncs creates and removes a file.
std::vector<Finding> CheckFiles(const Folder& folder);  // permissions
Finding CheckDisk(const Folder& folder, const ServerOptions& options);
Finding CheckSyncs(const Folder& folder);
Finding CheckStore(const Folder& folder);
Finding CheckHandles(const ServerOptions& options);
Finding CheckClock(const Folder& folder);  // and the times in the store
Finding CheckTls(const ServerOptions& options);
Finding CheckAudit(const Folder& folder);
Finding CheckTokens(const Folder& folder);
Finding CheckSecrets(const Folder& folder);
// The server that has the folder open, if any.
Finding CheckServer(const Folder& folder, const ServerOptions& options);
// The server that `options` name, and whether it accepts their token.
Finding CheckServer(const ClientOptions& options);

}  // namespace everstep::cli
