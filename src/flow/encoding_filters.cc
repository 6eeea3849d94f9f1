#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/content_count.h"
#include "flow/expression_filter.h"
#include "flow/filter_input.h"

namespace everstep {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Result<Value> ToJsonText(const FilterCall& call) {
  if (!call.meter.MakeJson(call.input)) return OverLimit();
  std::string json = ToJson(call.input);
  if (!call.meter.MakeText(json.size())) return OverLimit();
  return Value::Text(std::move(json));
}

Result<Value> FromJsonText(const FilterCall& call) {
  if (call.input.kind() != Value::Kind::kText) return WrongInput(call, "text");
  const std::string& text = call.input.text();
  if (!call.meter.MakeText(text.size())) return OverLimit();
  if (!call.meter.Operations(CountValues(ContentKind::kJson, text))) return OverLimit();
  Result<Value> value = ValueFromJson(text);
  if (!value) return ExpressionError("the text is not JSON: " + value.error().message);
  if (!call.meter.Read(*value)) return OverLimit();
  return value;
}

Result<Value> Base64Encode(const FilterCall& call) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  const std::string& text = input->text();
  std::string out;
  const std::size_t size = (text.size() + 2) / 3 * 4;
  if (!call.meter.MakeText(size)) return OverLimit();
  out.reserve(size);
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i) {
      bits = bits << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
    }
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(kBase64[bits >> shift & 63]);
  }
  const std::size_t padding = out.size() / 4 * 3 - text.size();
  return Value::Text(out.replace(out.size() - padding, padding, padding, '='));
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 == 0 && text.ends_with('=')) {
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return out;
}

Result<Value> Base64Decode(const FilterCall& call) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  if (!call.meter.MakeText(input->text().size())) return OverLimit();
  std::optional<std::string> bytes = FromBase64(input->text());
  if (!bytes) return ExpressionError("the text is not base64");
  if (!simdjson::validate_utf8(*bytes)) {
    return ExpressionError("the decoded bytes are not UTF-8 text");
  }
  return Value::Text(*std::move(bytes));
}

Result<Value> UrlEncode(const FilterCall& call) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const Result<Value> input = InputText(call);
  if (!input) return input;
  if (!call.meter.MakeText(3 * input->text().size())) return OverLimit();
  std::string out;
  for (const char c : input->text()) {
    if (kPlain.find(c) != std::string_view::npos) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return Value::Text(std::move(out));
}

constexpr std::array<ExpressionFilter, 5> kFilters = {{
    {"tojson", ToJsonText},
    {"fromjson", FromJsonText},
    {"b64encode", Base64Encode},
    {"b64decode", Base64Decode},
    {"urlencode", UrlEncode},
}};

}  // namespace

std::span<const ExpressionFilter> EncodingFilters() { return kFilters; }

}  // namespace everstep
