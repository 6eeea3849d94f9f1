#pragma once

#include <cstdint>

namespace everstep {

// The number of operations (see ExpressionLimits) that this thread has spent on rendering templates
// so far, including those added by AddOperations. A caller that works for many runs compares the
// value before and after, and yields if it has spent too much.
std::uint64_t OperationsDone();

// Charges for work outside the evaluator that costs as much as `count` operations, such as looking
// up an expensive name. While a template is rendered, this counts against the template's limit.
void AddOperations(std::uint64_t count);

// The cost of parsing that many bytes of JSON.
constexpr std::uint64_t OperationsOfJson(std::uint64_t bytes) { return 1 + bytes / 16; }

}  // namespace everstep
