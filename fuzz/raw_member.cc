#include "base/json.h"
#include "fuzz/fuzz.h"

// The input: a key, a newline, and a JSON object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view input = AsText(bytes, size);
  const std::size_t line_end = input.find('\n');
  if (line_end == std::string_view::npos) return 0;
  const std::string_view key = input.substr(0, line_end);
  const std::string_view object = input.substr(line_end + 1);
  // Characters that JSON escapes are outside the contract, both in the key and in member names.
  if (JsonQuote(key).size() != key.size() + 2 || object.find('\\') != std::string_view::npos)
    return 0;
  const auto canonical = CanonicalJson(object);
  if (!canonical || canonical->front() != '{') return 0;

  const auto member = RawMember(object, key);
  const auto canonical_member = RawMember(*canonical, key);
  FUZZ_REQUIRE(member.has_value() == canonical_member.has_value());
  if (!member) return 0;
  FUZZ_REQUIRE(member->data() >= object.data());
  FUZZ_REQUIRE(member->data() + member->size() <= object.data() + object.size());
  const auto value = CanonicalJson(*member);
  FUZZ_REQUIRE(value);
  FUZZ_REQUIRE(*value == *canonical_member);
  return 0;
}
