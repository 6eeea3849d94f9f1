#pragma once

#include <string>

#include "arguments.h"
#include "client/api_client.h"
#include "everstep/result.h"
#include "output.h"
#include "server_access.h"

namespace everstep::cli {

// Sends `call` to the server, since only servers have sinks. Returns the body of the answer. Fails
// with kInvalidArgument if no server is named.
Result<std::string> AskServer(const Arguments& arguments, const ApiClient::Call& call);

}  // namespace everstep::cli
