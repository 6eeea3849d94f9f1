#pragma once

#include <string>

#include "everstep/worker.h"
#include "wire/work_types.h"

namespace everstep {

// What the handler makes of the task, in the words of the API. Whatever it does, the report is one
// the server can read: it would refuse a whole request for one that is not.
ReportBody ReportOn(const std::string& token, const TaskCall& call, const Worker::Handler& handler);

TaskCall CallOf(TaskBody task);

}  // namespace everstep
