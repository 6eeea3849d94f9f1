#include "work/unescaped_text.h"

#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>

#include "base/utf8.h"

namespace everstep {
namespace {

struct Escape {
  std::size_t size = 0;  // in the text
  std::string bytes;
};

std::optional<std::uint32_t> CodeUnit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t unit = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return unit;
}

std::string Utf8Of(std::uint32_t point) {
  std::string text;
  AppendCharacter(point, text);
  return text;
}

// The escape with which the text begins, if it does.
std::optional<Escape> EscapeAt(std::string_view text) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (text.size() < 2 || text[0] != '\\') return std::nullopt;
  if (const std::size_t name = kNames.find(text[1]); name != std::string_view::npos) {
    return Escape{2, std::string(1, kMeanings[name])};
  }
  const auto unit = CodeUnit(text);
  if (!unit) return std::nullopt;
  if (*unit < 0xd800 || *unit > 0xdfff) return Escape{6, Utf8Of(*unit)};
  const auto low = CodeUnit(text.substr(6));
  if (*unit > 0xdbff || !low || *low < 0xdc00 || *low > 0xdfff) return std::nullopt;
  return Escape{12, Utf8Of(0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00))};
}

bool IsPartOfEscape(std::string_view text) {
  constexpr std::string_view kPattern = "\\uXXXX\\uXXXX";
  if (text.size() >= kPattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit =
        std::string_view("0123456789abcdefABCDEF").find(text[i]) != std::string_view::npos;
    if (kPattern[i] == 'X' ? !digit : text[i] != kPattern[i]) return false;
  }
  return true;
}

}  // namespace

UnescapedText::UnescapedText(std::string_view source) : text_(source), from_(source.size() + 1) {
  std::iota(from_.begin(), from_.end(), std::size_t{0});
}

bool UnescapedText::Next() {
  if (text_.find('\\') == std::string::npos) return false;
  std::string text;
  std::vector<std::size_t> from;
  for (std::size_t at = 0; at < text_.size();) {
    const auto escape = EscapeAt(std::string_view(text_).substr(at));
    if (escape) {
      text += escape->bytes;
      from.insert(from.end(), escape->bytes.size(), from_[at]);
      at += escape->size;
    } else {
      from.push_back(from_[at]);
      text.push_back(text_[at++]);
    }
  }
  from.push_back(from_.back());
  const bool changed = text.size() != text_.size();
  text_ = std::move(text);
  from_ = std::move(from);
  return changed;
}

void UnescapedText::DropCutEscape() {
  for (std::size_t at = text_.find('\\'); at != std::string::npos;) {
    const std::string_view rest = std::string_view(text_).substr(at);
    const auto escape = EscapeAt(rest);
    if (!escape && IsPartOfEscape(rest)) {
      text_.resize(at);
      from_.erase(from_.begin() + static_cast<std::ptrdiff_t>(at), from_.end() - 1);
      return;
    }
    at = text_.find('\\', at + (escape ? escape->size : 1));
  }
}

std::pair<std::size_t, std::size_t> UnescapedText::SourceOf(std::size_t begin,
                                                            std::size_t end) const {
  while (end > begin && end < text_.size() && from_[end] == from_[end - 1]) ++end;
  return {from_[begin], from_[end]};
}

}  // namespace everstep
