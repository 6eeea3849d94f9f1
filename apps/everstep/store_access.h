#pragma once

#include <memory>
#include <string>

#include "arguments.h"
#include "everstep/log.h"

namespace everstep::cli {

// The options that every command on a store has, those of commands that write, and the tenant.
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

// Beside a process that writes. The store must exist.
Result<std::unique_ptr<Log>> OpenToRead(const Arguments& arguments);

enum class IfMissing : bool { kFail, kCreate };

// As the one writer; waits for another to finish as long as --lock-timeout says. Takes
// kStoreOption, kLockTimeoutOption and, if the command has it, kMinFreeOption.
Result<std::unique_ptr<Log>> OpenToWrite(const Arguments& arguments, IfMissing if_missing);

}  // namespace everstep::cli
