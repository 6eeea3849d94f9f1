// The calls of Workflow DevKit applications.

#include <utility>

#include "serve/operations.h"

namespace everstep {

void CallWorld(Api& api, CallPtr call) { api.world().Handle(call); }

}  // namespace everstep
