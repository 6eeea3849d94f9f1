#pragma once

#include <cstdint>

namespace everstep {

// Operations of expressions (see ExpressionLimits) that templates rendered on this thread have
// taken so far, and work that was added to them. Who decides for many compares before and after,
// and lets others have their turn.
std::uint64_t OperationsDone();

// Work beside an evaluation that takes as long as so many operations. While a template is rendered
// it counts against the template's limit: a name that is costly to look up is not free.
void AddOperations(std::uint64_t count);

// Of parsing so much JSON.
constexpr std::uint64_t OperationsOfJson(std::uint64_t bytes) { return 1 + bytes / 16; }

}  // namespace everstep
