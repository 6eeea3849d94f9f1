#pragma once

#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

struct Batch {
  std::vector<std::string_view> documents;  // views into the body
  bool single = false;                      // the body is one document, not a list
};

// Splits a body into documents without parsing them: one JSON object, a JSON array of objects, or
// lines (application/x-ndjson). The caller must validate the documents themselves. Fails with
// kInvalidJson and the position, or with kInvalidArgument if there are none or more than
// kBatchDocumentsMax.
inline constexpr std::size_t kBatchDocumentsMax = 10'000;
Result<Batch> SplitBatch(std::string_view content_type, std::string_view body);

}  // namespace everstep
