#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "look.h"

namespace everstep::cli {

// A line of text in several colours that can be cut to the width of a terminal.
class StyledLine {
 public:
  StyledLine& Add(Colour colour, std::string_view text);
  StyledLine& Add(std::string_view text) { return Add(Colour::kPlain, text); }
  // Adds spaces up to this column if the line is shorter.
  StyledLine& PadTo(std::size_t column);

  std::size_t columns() const { return columns_; }
  // Returns the line without a newline, at most look.columns wide.
  std::string Text(const Look& look) const;

 private:
  struct Span {
    Colour colour;
    std::string text;
  };
  std::vector<Span> spans_;
  std::size_t columns_ = 0;
};

}  // namespace everstep::cli
