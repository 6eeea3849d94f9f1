#include "flow/expression.h"

#include "base/json.h"
#include "flow/template.h"
#include "flow/value_names.h"
#include "fuzz/fuzz.h"

namespace {

const everstep::ValueNames& SomeNames() {
  static const everstep::ValueNames names(*everstep::ValueFromJson(
      R"({"a": 1, "b": "x,y", "c": [3, 1, 2.5], "d": {"e": [true, null], "f": "2"}, "g": []})"));
  return names;
}

// Two evaluations must agree, and a result must survive a JSON round trip.
void RequireSame(const everstep::Result<everstep::Value>& one,
                 const everstep::Result<everstep::Value>& other) {
  FUZZ_REQUIRE(one.has_value() == other.has_value());
  if (!one) {
    FUZZ_REQUIRE(one.error().code == everstep::ErrorCode::kExpressionFailed);
    FUZZ_REQUIRE(one.error().message == other.error().message);
    return;
  }
  const std::string json = everstep::ToJson(*one);
  FUZZ_REQUIRE(json == everstep::ToJson(*other));
  const auto read = everstep::ValueFromJson(json);
  FUZZ_REQUIRE(read);
  FUZZ_REQUIRE(everstep::ToJson(*read) == json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view text = AsText(bytes, size);
  ExpressionFault fault;
  if (const auto expression = Expression::Parse(text, &fault)) {
    RequireSame(expression->Evaluate(SomeNames()), expression->Evaluate(SomeNames()));
  } else {
    FUZZ_REQUIRE(fault.offset <= text.size() && !fault.message.empty());
  }
  std::string source;
  JsonWriter(source).String(text);
  const auto value = ValueFromJson(source);
  if (!value) return 0;
  std::vector<Template::Fault> faults;
  if (const auto compiled = Template::Compile(*value, &faults)) {
    RequireSame(compiled->Render(SomeNames()), compiled->Render(SomeNames()));
  } else {
    FUZZ_REQUIRE(!faults.empty());
    for (const auto& found : faults) FUZZ_REQUIRE(found.offset <= text.size());
  }
  return 0;
}
