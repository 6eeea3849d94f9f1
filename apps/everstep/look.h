#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep::cli {

enum class Colour : std::uint8_t { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

// How text may be formatted on a stream.
struct Look {
  bool is_terminal = false;
  bool colours = false;      // a terminal, and NO_COLOR is not set
  bool utf8 = false;         // the locale uses UTF-8
  std::size_t columns = 80;  // of the terminal; elsewhere practically unlimited
  std::size_t rows = 24;     // likewise

  std::string Paint(Colour colour, std::string_view text) const;
  std::string_view Glyph(std::string_view utf8_form, std::string_view ascii_form) const {
    return utf8 ? utf8_form : ascii_form;
  }
};

// The looks of standard output and standard error.
Look OutputLook();
Look ErrorLook();

// Returns the colour of a status or outcome.
Colour ColourOfStatus(std::string_view status);

// Returns the number of characters (not bytes).
std::size_t ColumnsOf(std::string_view text);

// Makes untrusted text safe for a terminal: control characters become "?".
std::string Printable(std::string_view text);

// Returns `text` cut to at most `columns`, with a mark if something was cut off.
std::string Shortened(std::string_view text, std::size_t columns, const Look& look);

}  // namespace everstep::cli
