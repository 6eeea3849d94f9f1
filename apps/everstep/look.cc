#include "look.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

namespace everstep::cli {
namespace {

constexpr std::size_t kUnlimited = 1 << 16;

bool LocaleIsUtf8() {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return false;
  const bool is_utf8 = std::string_view(nl_langinfo_l(CODESET, locale)) == "UTF-8";
  freelocale(locale);
  return is_utf8;
}

Look LookOf(int stream) {
  Look look;
  look.is_terminal = isatty(stream) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  look.colours = look.is_terminal && !is_dumb && (no_color == nullptr || *no_color == '\0');
  look.utf8 = LocaleIsUtf8();
  look.columns = kUnlimited;
  look.rows = kUnlimited;
  if (winsize size{};
      look.is_terminal && ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    look.columns = size.ws_col;
    look.rows = size.ws_row > 0 ? size.ws_row : 24;
  }
  return look;
}

std::string_view CodeOf(Colour colour) {
  switch (colour) {
    case Colour::kPlain:
      return "0";
    case Colour::kBold:
      return "1";
    case Colour::kDim:
      return "2";
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kYellow:
      return "33";
    case Colour::kBlue:
      return "34";
    case Colour::kCyan:
      return "36";
  }
  return "0";
}

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

Look OutputLook() { return LookOf(STDOUT_FILENO); }
Look ErrorLook() { return LookOf(STDERR_FILENO); }

std::string Look::Paint(Colour colour, std::string_view text) const {
  if (!colours || colour == Colour::kPlain || text.empty()) return std::string(text);
  std::string painted = "\x1b[";
  painted.append(CodeOf(colour)).append("m").append(text).append("\x1b[0m");
  return painted;
}

Colour ColourOfStatus(std::string_view status) {
  if (status == "COMPLETED" || status == "SUCCESS") return Colour::kGreen;
  if (status == "FAILED") return Colour::kRed;
  if (status == "RUNNING") return Colour::kCyan;
  if (status == "PAUSED" || status == "PENDING" || status == "APPROVED" || status == "RETRYING")
    return Colour::kYellow;
  return Colour::kDim;
}

std::size_t ColumnsOf(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, BeginsCharacter));
}

std::string Printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte < 0x20 || byte == 0x7f) {
      safe.push_back('?');
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // C1 control characters
      safe.push_back('?');
      ++i;
    } else {
      safe.push_back(text[i]);
    }
  }
  return safe;
}

std::string Shortened(std::string_view text, std::size_t columns, const Look& look) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  const std::string_view mark = look.Glyph("…", "...");
  const std::size_t kept = columns - std::min(columns, ColumnsOf(mark));
  std::size_t seen = 0;
  std::size_t end = 0;
  while (end < text.size() && (seen += BeginsCharacter(text[end]) ? 1 : 0) <= kept) ++end;
  return std::string(text.substr(0, end)) + std::string(mark);
}

}  // namespace everstep::cli
