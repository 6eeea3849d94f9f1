#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep::cli {

enum class Colour : std::uint8_t { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

// How text may look on a stream.
struct Look {
  bool is_terminal = false;
  bool colours = false;      // a terminal, and NO_COLOR is not set
  bool utf8 = false;         // the locale can show more than ASCII
  std::size_t columns = 80;  // of the terminal; wide enough for anything elsewhere
  std::size_t rows = 24;     // likewise

  std::string Paint(Colour colour, std::string_view text) const;
  std::string_view Glyph(std::string_view utf8_form, std::string_view ascii_form) const {
    return utf8 ? utf8_form : ascii_form;
  }
};

// Of standard output and of standard error.
Look OutputLook();
Look ErrorLook();

// The colour in which a status or outcome is shown everywhere.
Colour ColourOfStatus(std::string_view status);

// Characters, not bytes.
std::size_t ColumnsOf(std::string_view text);

// Text from an event, safe to show: control characters, which could steer a terminal, become "?".
std::string Printable(std::string_view text);

// At most `columns` wide; what is cut off is marked.
std::string Shortened(std::string_view text, std::size_t columns, const Look& look);

}  // namespace everstep::cli
