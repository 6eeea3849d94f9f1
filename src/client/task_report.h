#pragma once

#include <string>

#include "everstep/worker.h"
#include "wire/work_types.h"

namespace everstep {

// Runs the handler and returns its result as a report for the API. The report is always valid, even
// if the handler throws or returns an invalid result, because the server rejects a whole request if
// one of its reports is invalid.
ReportBody ReportOn(const std::string& token, const TaskCall& call, const Worker::Handler& handler);

TaskCall CallOf(TaskBody task);

}  // namespace everstep
