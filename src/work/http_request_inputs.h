#pragma once

#include "net/http_message.h"
#include "work/inputs.h"
#include "work/tool_port.h"

namespace everstep {

// Builds the request that the inputs of an http step describe. Adds faults to `inputs` if they are
// invalid.
HttpRequest ReadHttpRequest(Inputs& inputs, const Task& task);

}  // namespace everstep
