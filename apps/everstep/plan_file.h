#pragma once

#include <memory>
#include <string>
#include <vector>

#include "everstep/result.h"
#include "flow/plan.h"

namespace everstep::cli {

// The content of a file; "-" is standard input. kInvalidArgument, kPlanUnavailable.
Result<std::string> ReadWholeFile(const std::string& name);

// A plan from a file. The pointers of its faults and warnings are "file:line:column".
Result<std::shared_ptr<const Plan>> ReadPlanFile(const std::string& name,
                                                 std::vector<PlanWarning>* warnings = nullptr);

// "plan.yaml:12:5", or with the pointer where the line is not known.
std::string PlaceOf(const std::string& file, const std::string& pointer, std::uint32_t line,
                    std::uint32_t column);

}  // namespace everstep::cli
