#include "serve/batch_reader.h"

#include <string>

namespace everstep {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

Error TooMany() {
  return {ErrorCode::kInvalidArgument,
          "the body has more than " + std::to_string(kBatchDocumentsMax) +
              " events; send them in several requests",
          {}};
}

Error NotJson(std::size_t at, const char* message) {
  return {ErrorCode::kInvalidJson, std::string(message) + ", at byte " + std::to_string(at), {}};
}

// Returns the end of the value at `at`, or npos. Only tracks strings and brackets.
std::size_t EndOfValue(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) {
          if (text[at] == '\\') ++at;
        }
        if (at >= text.size()) return std::string_view::npos;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;  // the end of the enclosing list
        if (--depth == 0) return at + 1;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
  }
  return depth == 0 ? at : std::string_view::npos;
}

Result<Batch> SplitLines(std::string_view body) {
  Batch batch;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    const std::string_view line = body.substr(0, end);
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
    if (line.find_first_not_of(kSpace) == std::string_view::npos) continue;
    if (batch.documents.size() == kBatchDocumentsMax) return TooMany();
    batch.documents.push_back(line);
  }
  return batch;
}

Result<Batch> SplitList(std::string_view body, std::size_t at) {
  Batch batch;
  ++at;
  while (true) {
    at = body.find_first_not_of(kSpace, at);
    if (at == std::string_view::npos) return NotJson(body.size(), "the list is not closed");
    if (body[at] == ']' && batch.documents.empty()) break;
    const std::size_t end = EndOfValue(body, at);
    if (end == std::string_view::npos || end == at) {
      return NotJson(at, "the list contains an item that is not a JSON value");
    }
    if (batch.documents.size() == kBatchDocumentsMax) return TooMany();
    batch.documents.push_back(body.substr(at, end - at));
    at = body.find_first_not_of(kSpace, end);
    if (at == std::string_view::npos) return NotJson(body.size(), "the list is not closed");
    if (body[at] == ']') break;
    if (body[at] != ',') return NotJson(at, "expected ',' or ']'");
    ++at;
  }
  if (body.find_first_not_of(kSpace, at + 1) != std::string_view::npos) {
    return NotJson(at + 1, "unexpected data after the list");
  }
  return batch;
}

}  // namespace

Result<Batch> SplitBatch(std::string_view content_type, std::string_view body) {
  Result<Batch> batch = Batch();
  const std::size_t first = body.find_first_not_of(kSpace);
  if (content_type.starts_with("application/x-ndjson")) {
    batch = SplitLines(body);
  } else if (first != std::string_view::npos && body[first] == '[') {
    batch = SplitList(body, first);
  } else if (first != std::string_view::npos) {
    batch->documents.push_back(body);
    batch->single = true;
  }
  if (!batch) return batch;
  if (batch->documents.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the body contains no events", {}};
  }
  return batch;
}

}  // namespace everstep
