#include <algorithm>
#include <array>
#include <string>

#include "base/utf8.h"
#include "flow/expression_filter.h"
#include "flow/filter_input.h"

namespace everstep {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

// The input with each character changed by `change(character, previous)`.
template <typename Change>
Result<Value> ChangeLetters(const FilterCall& call, const Change& change) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  std::string text = input->text();
  if (!call.meter.MakeText(text.size())) return OverLimit();
  char previous = ' ';
  for (char& c : text) {
    const char old = c;
    c = change(c, previous);
    previous = old;
  }
  return Value::Text(std::move(text));
}

Result<Value> Lower(const FilterCall& call) {
  return ChangeLetters(call, [](char c, char) { return AsciiLower(c); });
}

Result<Value> Upper(const FilterCall& call) {
  return ChangeLetters(call, [](char c, char) { return AsciiUpper(c); });
}

Result<Value> Title(const FilterCall& call) {
  return ChangeLetters(call, [](char c, char previous) {
    constexpr std::string_view kBreaks = " \t\r\n-([{<";
    return kBreaks.find(previous) == std::string_view::npos ? AsciiLower(c) : AsciiUpper(c);
  });
}

Result<Value> Capitalize(const FilterCall& call) {
  bool first = true;
  return ChangeLetters(call, [&first](char c, char) {
    return std::exchange(first, false) ? AsciiUpper(c) : AsciiLower(c);
  });
}

Result<Value> Trim(const FilterCall& call) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  std::string_view text = input->text();
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (!call.meter.MakeText(text.size())) return OverLimit();
  return Value::Text(std::string(text));
}

Result<Value> Replace(const FilterCall& call) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  const Result<std::string> from = TextArgument(call, 0);
  const Result<std::string> to = TextArgument(call, 1);
  const Result<std::int64_t> count = IntArgument(call, 2, INT64_MAX);
  if (!from) return from.error();
  if (!to) return to.error();
  if (!count) return count.error();
  if (from->empty()) return ExpressionError("filter 'replace' cannot replace empty text");
  const std::string& text = input->text();
  std::string out;
  std::size_t at = 0;
  for (std::int64_t done = 0; done < *count; ++done) {
    const std::size_t found = text.find(*from, at);
    if (found == std::string::npos) break;
    if (!call.meter.MakeText(found - at + to->size())) return OverLimit();
    out.append(text, at, found - at).append(*to);
    at = found + from->size();
  }
  if (!call.meter.MakeText(text.size() - at)) return OverLimit();
  out.append(text, at);
  return Value::Text(std::move(out));
}

// Appends the piece. Returns false if the meter refuses.
bool AddPiece(const FilterCall& call, std::string_view piece, ValueList& pieces) {
  if (!call.meter.MakeItems(1) || !call.meter.MakeText(piece.size())) return false;
  pieces.push_back(Value::Text(std::string(piece)));
  return true;
}

Result<Value> SplitAtSpace(const FilterCall& call, std::string_view text, std::int64_t splits_max) {
  ValueList pieces;
  for (std::int64_t done = 0;; ++done) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) break;
    const std::size_t size =
        done == splits_max ? text.size() : std::min(text.find_first_of(kSpace), text.size());
    if (!AddPiece(call, text.substr(0, size), pieces)) return OverLimit();
    text.remove_prefix(size);
  }
  return Value::List(std::move(pieces));
}

Result<Value> Split(const FilterCall& call) {
  const Result<Value> input = InputText(call);
  if (!input) return input;
  const Result<std::int64_t> splits = IntArgument(call, 1, -1);
  if (!splits) return splits.error();
  const std::int64_t splits_max = *splits < 0 ? INT64_MAX : *splits;
  std::string_view text = input->text();
  if (call.arguments[0].undefined() || call.arguments[0].kind() == Value::Kind::kNull) {
    return SplitAtSpace(call, text, splits_max);
  }
  const Result<std::string> separator = TextArgument(call, 0);
  if (!separator) return separator.error();
  if (separator->empty()) return ExpressionError("filter 'split' cannot split at empty text");
  ValueList pieces;
  for (std::int64_t done = 0; done < splits_max; ++done) {
    const std::size_t found = text.find(*separator);
    if (found == std::string_view::npos) break;
    if (!AddPiece(call, text.substr(0, found), pieces)) return OverLimit();
    text.remove_prefix(found + separator->size());
  }
  if (!AddPiece(call, text, pieces)) return OverLimit();
  return Value::List(std::move(pieces));
}

constexpr std::array<ExpressionFilter, 7> kFilters = {{
    {"lower", Lower},
    {"upper", Upper},
    {"title", Title},
    {"capitalize", Capitalize},
    {"trim", Trim},
    {"replace", Replace, {"old", "new", "count"}, 2},
    {"split", Split, {"separator", "maxsplit"}},
}};

}  // namespace

std::span<const ExpressionFilter> TextFilters() { return kFilters; }

}  // namespace everstep
