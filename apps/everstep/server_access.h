#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/client.h"
#include "everstep/result.h"

namespace everstep::cli {

// A token is never given on the command line itself, where every user of the machine can see it.
inline constexpr OptionSpec kServerOption{"server", OptionKind::kText, "URL",
                                          "ask this server [default: $EVERSTEP_SERVER]"};
inline constexpr OptionSpec kTokenFileOption{
    "token-file", OptionKind::kText, "FILE",
    "the API token [default: $EVERSTEP_TOKEN, $EVERSTEP_TOKEN_FILE]"};
inline constexpr OptionSpec kCaFileOption{
    "ca-file", OptionKind::kText, "FILE",
    "who vouches for the server, PEM [default: $EVERSTEP_CA_FILE, else the system's]"};

// The server that the command is for: --server, else, without --data, $EVERSTEP_SERVER. Nothing:
// none, the command is for the data folder. kInvalidArgument: --data and --server, a token file
// that cannot be read. The command must have the three options.
Result<std::optional<ClientOptions>> FindServer(const Arguments& arguments);

// To a server the token says whose tenant it is and which roles there are: kInvalidArgument if
// --tenant or --role was given.
Status CheckTokenDecides(const Arguments& arguments);

// Of a server. kInvalidArgument.
Status CheckUrl(std::string_view url);

// " --server URL --token-file FILE": for commands shown to people.
std::string ServerWords(const Arguments& arguments);

}  // namespace everstep::cli
