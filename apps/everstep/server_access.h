#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/client.h"
#include "everstep/result.h"

namespace everstep::cli {

// No option takes the token itself, since every user of the machine can see command lines.
inline constexpr OptionSpec kServerOption{"server", OptionKind::kText, "URL",
                                          "use this server [default: $EVERSTEP_SERVER]"};
inline constexpr OptionSpec kTokenFileOption{
    "token-file", OptionKind::kText, "FILE",
    "file with the API token [default: $EVERSTEP_TOKEN, else $EVERSTEP_TOKEN_FILE]"};
inline constexpr OptionSpec kCaFileOption{
    "ca-file", OptionKind::kText, "FILE",
    "CA certificate bundle, PEM [default: $EVERSTEP_CA_FILE, else the system's]"};

// Returns the server that the command is for: --server, or $EVERSTEP_SERVER if --data is not given;
// nothing if the command is for the data folder. Fails with kInvalidArgument for --data together
// with --server, for a user in the URL and for an unusable token file. Requires: the command has
// the three options.
Result<std::optional<ClientOptions>> FindServer(const Arguments& arguments);

// With a server, the token determines the tenant and the roles. Fails with kInvalidArgument if
// --tenant or --role is given.
Status CheckTokenDecides(const Arguments& arguments);

// Checks the scheme of a server URL. Fails with kInvalidArgument.
Status CheckUrl(std::string_view url);

// Returns " --server URL --token-file FILE" as given, for commands shown to people.
std::string ServerWords(const Arguments& arguments);

}  // namespace everstep::cli
