#pragma once

#include "net/http_message.h"
#include "work/inputs.h"
#include "work/tool_port.h"

namespace everstep {

// The request that the inputs of an http step describe; what is wrong with them is noted there.
HttpRequest ReadHttpRequest(Inputs& inputs, const Task& task);

}  // namespace everstep
