#pragma once

#include <memory>
#include <string>

#include "arguments.h"
#include "everstep/log.h"

namespace everstep::cli {

// Common options: for every command on a store, for commands that write, and the tenant.
inline constexpr OptionSpec kStoreOption{
    "store", OptionKind::kText, "DIR",
    "the store [default: $EVERSTEP_STORE, else ./everstep-data]"};
inline constexpr OptionSpec kLockTimeoutOption{"lock-timeout", OptionKind::kDuration, "TIME",
                                               "how long to wait for a store in use", "5s"};
inline constexpr OptionSpec kMinFreeOption{"min-free", OptionKind::kBytes, "BYTES",
                                           "refuse to write below this much free disk", "64M"};
inline constexpr OptionSpec kTenantOption{"tenant", OptionKind::kText, "ID", "the tenant",
                                          "default"};

std::string StoreDirectory(const Arguments& arguments);

// Opens the store for reading; another process may write to it. The store must exist.
Result<std::unique_ptr<Log>> OpenToRead(const Arguments& arguments);

enum class IfMissing : bool { kFail, kCreate };

// Opens the store as its only writer; waits up to --lock-timeout for another writer to close it.
// Requires: the command has kStoreOption and kLockTimeoutOption; kMinFreeOption is optional.
Result<std::unique_ptr<Log>> OpenToWrite(const Arguments& arguments, IfMissing if_missing);

}  // namespace everstep::cli
