#pragma once

#include <memory>
#include <string>
#include <vector>

#include "everstep/result.h"
#include "flow/plan.h"

namespace everstep::cli {

// Returns the content of a file; "-" is standard input. May return only the beginning of a file
// larger than kPlanBytesMax. Fails with kPlanUnavailable.
Result<std::string> ReadWholeFile(const std::string& name);

// Reads a plan from a file. The pointers of faults and warnings have the form "file:line:column".
Result<std::shared_ptr<const Plan>> ReadPlanFile(const std::string& name,
                                                 std::vector<PlanWarning>* warnings = nullptr);

// Returns "plan.yaml:12:5", or "plan.yaml /pointer" if the line is not known.
std::string PlaceOf(const std::string& file, const std::string& pointer, std::uint32_t line,
                    std::uint32_t column);

}  // namespace everstep::cli
