#pragma once

#include <string>

#include "arguments.h"
#include "client/api_client.h"
#include "everstep/result.h"
#include "output.h"
#include "server_access.h"

namespace everstep::cli {

// Sinks are a server's: these commands ask one. kInvalidArgument: none is named.
Result<std::string> AskServer(const Arguments& arguments, const ApiClient::Call& call);

}  // namespace everstep::cli
