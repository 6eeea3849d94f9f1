#pragma once

#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

struct Batch {
  std::vector<std::string_view> documents;  // in the body
  bool single = false;                      // the body is one document and not a list
};

// The documents of a body without reading them: one JSON object, a JSON array of them, or lines
// (application/x-ndjson). What is inside them is for others to check. kInvalidJson with the place;
// kInvalidArgument: none, or more than kBatchDocumentsMax.
inline constexpr std::size_t kBatchDocumentsMax = 10'000;
Result<Batch> SplitBatch(std::string_view content_type, std::string_view body);

}  // namespace everstep
