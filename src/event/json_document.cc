#include "event/json_document.h"

#include <string>
#include <vector>

#include "base/json.h"
#include "event/dialect.h"

namespace everstep {
namespace {

constexpr std::size_t kDepthMax = 256;
constexpr std::size_t kCapacityFirst = 4096;

// A parser and the padded copy of its input, which simdjson requires.
struct Reader {
  simdjson::dom::parser parser;
  std::vector<char> buffer = std::vector<char>(kCapacityFirst + simdjson::SIMDJSON_PADDING);
  simdjson::error_code allocated = parser.allocate(kCapacityFirst, kDepthMax);
  std::size_t size = 0;  // of the document read last

  // The DOM has no positions in the text. This finds them, several times faster than a scan over
  // each character.
  simdjson::ondemand::parser finder;
};

Reader& ThisThreads() {
  thread_local Reader reader;
  return reader;
}

}  // namespace

Result<simdjson::dom::object> ReadDocument(std::string_view json) {
  if (json.size() > kEventBytesMax) {
    return Error{ErrorCode::kEventTooLarge,
                 "the event has " + std::to_string(json.size()) + " bytes; the limit is " +
                     std::to_string(kEventBytesMax),
                 {}};
  }
  Reader& reader = ThisThreads();
  if (json.size() + simdjson::SIMDJSON_PADDING > reader.buffer.size()) {
    reader.buffer.resize(json.size() + simdjson::SIMDJSON_PADDING);
  }
  std::copy(json.begin(), json.end(), reader.buffer.begin());
  reader.size = json.size();
  simdjson::dom::element root;
  const simdjson::error_code failure =
      reader.allocated ? reader.allocated
                       : reader.parser.parse(reader.buffer.data(), json.size(), false).get(root);
  if (failure) {
    return Error{ErrorCode::kInvalidJson,
                 std::string("the event is not valid JSON: ") + simdjson::error_message(failure),
                 {}};
  }
  simdjson::dom::object object;
  if (root.get(object)) {
    return Error{ErrorCode::kSchemaValidationFailed,
                 "the event is not a JSON object",
                 {Fault{"", "must be an object"}}};
  }
  return object;
}

std::string_view ObjectText(std::string_view name) {
  Reader& reader = ThisThreads();
  const std::string_view json(reader.buffer.data(), reader.size);
  simdjson::ondemand::document document;
  simdjson::ondemand::object member;
  std::string_view text;
  const bool found = !reader.finder.iterate(json, reader.buffer.size()).get(document) &&
                     !document[name].get_object().get(member) && !member.raw_json().get(text);
  // The finder does not match names with escape sequences.
  if (!found) return RawMember(json, name).value_or(std::string_view());
  // The raw text extends to the next token.
  return text.substr(0, text.find_last_of('}') + 1);
}

}  // namespace everstep
