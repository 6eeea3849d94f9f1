#include "styled_line.h"

namespace everstep::cli {

StyledLine& StyledLine::Add(Colour colour, std::string_view text) {
  if (text.empty()) return *this;
  spans_.push_back({colour, std::string(text)});
  columns_ += ColumnsOf(text);
  return *this;
}

StyledLine& StyledLine::PadTo(std::size_t column) {
  return columns_ < column ? Add(std::string(column - columns_, ' ')) : *this;
}

std::string StyledLine::Text(const Look& look) const {
  std::string text;
  std::size_t left = look.columns;
  for (std::size_t i = 0; i < spans_.size() && left > 0; ++i) {
    const std::size_t width = ColumnsOf(spans_[i].text);
    // The mark of a cut needs a column, so a span that fits exactly is cut too unless it is the
    // last.
    const bool fits = width < left || (width == left && i + 1 == spans_.size());
    text += look.Paint(spans_[i].colour,
                       fits ? spans_[i].text : Shortened(spans_[i].text + " ", left, look));
    left = fits ? left - width : 0;
  }
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace everstep::cli
