#include "flow/template_text.h"

#include <algorithm>

namespace everstep {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kNone = std::string_view::npos;

// Finds the }} that ends the hole whose content starts at `at`. Braces of maps and braces in text
// literals do not end it.
std::size_t FindHoleEnd(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      for (++at; at < text.size() && text[at] != c; ++at) {
        if (text[at] == '\\') ++at;
      }
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && depth > 0) {
      --depth;
    } else if (c == '}' && text.substr(at).starts_with("}}")) {
      return at;
    }
  }
  return kNone;
}

class Cutter {
 public:
  Cutter(std::string_view text, std::vector<TemplateTextFault>& faults)
      : text_(text), faults_(faults) {}

  std::vector<TemplatePiece> Cut() {
    while (at_ < text_.size()) {
      const std::size_t open = FindOpening();
      AddText(at_, std::min(open, text_.size()));
      if (open == kNone) break;
      const char kind = text_[open + 1];
      at_ = kind == '{' ? CutHole(open) : kind == '#' ? SkipComment(open) : SkipStatement(open);
    }
    return std::move(pieces_);
  }

 private:
  std::size_t FindOpening() const {
    for (std::size_t open = text_.find('{', at_); open != kNone; open = text_.find('{', open + 1)) {
      if (open + 1 < text_.size() && std::string_view("{#%").find(text_[open + 1]) != kNone) {
        return open;
      }
    }
    return kNone;
  }

  void AddText(std::size_t begin, std::size_t end) {
    if (trims_next_) {
      begin = std::min(std::min(text_.find_first_not_of(kSpace, begin), text_.size()), end);
      trims_next_ = begin == end;
    }
    if (begin < end) pieces_.push_back({false, text_.substr(begin, end - begin), begin});
  }

  void TrimLast() {
    if (pieces_.empty() || pieces_.back().is_hole) return;
    std::string_view& text = pieces_.back().text;
    text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    if (text.empty()) pieces_.pop_back();
  }

  std::size_t CutHole(std::size_t open) {
    std::size_t begin = open + 2;
    const std::size_t close = FindHoleEnd(text_, begin);
    if (close == kNone) {
      faults_.push_back({open, "'{{' is not closed by '}}'; write {{ '{{' }} for the braces"});
      return text_.size();
    }
    std::size_t end = close;
    // Without a space after it, the sign belongs to a number: {{-1}}.
    if (text_[begin] == '-' && kSpace.find(text_[begin + 1]) != kNone) {
      TrimLast();
      ++begin;
    }
    trims_next_ = end > begin && text_[end - 1] == '-';
    if (trims_next_) --end;
    pieces_.push_back({true, text_.substr(begin, end - begin), begin});
    return close + 2;
  }

  std::size_t SkipComment(std::size_t open) {
    const std::size_t close = text_.find("#}", open + 2);
    if (close != kNone) return close + 2;
    faults_.push_back({open, "the comment '{#' is not closed by '#}'; write {{ '{#' }} for text"});
    return text_.size();
  }

  std::size_t SkipStatement(std::size_t open) {
    faults_.push_back({open,
                       "statements {% … %} are not available; use {{ a if c else b }}, `when` or "
                       "`foreach`, and write {{ '{%' }} for text"});
    const std::size_t close = text_.find("%}", open + 2);
    return close == kNone ? text_.size() : close + 2;
  }

  std::string_view text_;
  std::vector<TemplateTextFault>& faults_;
  std::vector<TemplatePiece> pieces_;
  std::size_t at_ = 0;
  bool trims_next_ = false;
};

}  // namespace

std::vector<TemplatePiece> CutTemplate(std::string_view text,
                                       std::vector<TemplateTextFault>& faults) {
  return Cutter(text, faults).Cut();
}

}  // namespace everstep
