#include "json_layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace everstep::cli {
namespace {

// Splits well-formed JSON into brackets, strings and other scalars; skips commas and colons.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // The first character of the next token; '\0' at the end.
  char Peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n,:", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view Next() {
    const char first = Peek();
    const std::size_t start = at_;
    if (first == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
      at_ = std::min(at_ + 1, text_.size());
    } else if (first == '{' || first == '}' || first == '[' || first == ']') {
      ++at_;
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,:{}[]\"", at_), text_.size());
    }
    return text_.substr(start, at_ - start);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

void Break(std::string& out, std::size_t depth) { out.append("\n").append(2 * depth, ' '); }

void WriteIndented(Tokens& tokens, std::size_t depth, std::string& out) {
  const std::string_view token = tokens.Next();
  out += token;
  if (token != "{" && token != "[") return;
  const char end = token == "{" ? '}' : ']';
  bool first = true;
  while (tokens.Peek() != end && tokens.Peek() != '\0') {
    if (!first) out += ',';
    first = false;
    Break(out, depth + 1);
    if (end == '}') out.append(tokens.Next()).append(": ");
    WriteIndented(tokens, depth + 1, out);
  }
  tokens.Next();
  if (!first) Break(out, depth);
  out += end;
}

// Returns a JSON string as YAML: without quotes if no YAML reader could take it for another type,
// otherwise unchanged, since a JSON string is a valid YAML string.
std::string_view YamlScalar(std::string_view token) {
  if (token.size() < 3 || token.front() != '"') return token;
  const std::string_view bare = token.substr(1, token.size() - 2);
  const auto safe = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (std::isalpha(static_cast<unsigned char>(bare.front())) == 0) return token;
  if (!std::ranges::all_of(bare, safe)) return token;
  std::string lower(bare);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 9> kOtherMeaning = {"true", "false", "null", "yes", "no",
                                                             "on",   "off",   "y",    "n"};
  return std::ranges::find(kOtherMeaning, lower) == kOtherMeaning.end() ? bare : token;
}

void WriteYaml(Tokens& tokens, std::size_t depth, bool after_dash, std::string& out);

// Writes the value after "key:" or "-".
void WriteYamlMember(Tokens& tokens, std::size_t depth, bool after_dash, std::string& out) {
  const char first = tokens.Peek();
  if (first != '{' && first != '[') {
    out.append(" ").append(YamlScalar(tokens.Next())).append("\n");
    return;
  }
  Tokens ahead = tokens;
  ahead.Next();
  if (ahead.Peek() == '}' || ahead.Peek() == ']') {
    tokens.Next();
    tokens.Next();
    out += first == '{' ? " {}\n" : " []\n";
    return;
  }
  if (!after_dash) out += "\n";
  WriteYaml(tokens, depth, after_dash, out);
}

// Writes the members of a non-empty object or array. After a dash the first stays on its line.
void WriteYaml(Tokens& tokens, std::size_t depth, bool after_dash, std::string& out) {
  const bool is_object = tokens.Next() == "{";
  const char end = is_object ? '}' : ']';
  bool first = true;
  while (tokens.Peek() != end && tokens.Peek() != '\0') {
    if (first && after_dash) {
      out += " ";
    } else {
      out.append(2 * depth, ' ');
    }
    first = false;
    if (is_object) {
      out.append(YamlScalar(tokens.Next())).append(":");
      WriteYamlMember(tokens, depth + 1, false, out);
    } else {
      out += "-";
      WriteYamlMember(tokens, depth + 1, true, out);
    }
  }
  tokens.Next();
}

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  }
}

std::uint32_t HexAt(std::string_view text, std::size_t at) {
  std::uint32_t code = 0;
  if (at + 4 <= text.size()) std::from_chars(text.data() + at, text.data() + at + 4, code, 16);
  return code;
}

}  // namespace

std::string IndentedJson(std::string_view json) {
  std::string out;
  Tokens tokens(json);
  WriteIndented(tokens, 0, out);
  return out + "\n";
}

std::string YamlOf(std::string_view json) {
  std::string out = "-";  // writes as if after a dash, which is then removed
  Tokens tokens(json);
  WriteYamlMember(tokens, 0, true, out);
  return out.substr(2);
}

std::string PlainText(std::string_view json_value) {
  if (json_value.size() < 2 || json_value.front() != '"') return std::string(json_value);
  const std::string_view body = json_value.substr(1, json_value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      text.push_back(body[i]);
      continue;
    }
    switch (body[++i]) {
      case 'b':
        text.push_back('\b');
        break;
      case 'f':
        text.push_back('\f');
        break;
      case 'n':
        text.push_back('\n');
        break;
      case 'r':
        text.push_back('\r');
        break;
      case 't':
        text.push_back('\t');
        break;
      case 'u': {
        std::uint32_t code = HexAt(body, i + 1);
        i += 4;
        if (code >= 0xd800 && code < 0xdc00) {
          code = 0x10000 + ((code - 0xd800) << 10) + (HexAt(body, i + 3) - 0xdc00);
          i += 6;
        }
        AppendUtf8(code, text);
        break;
      }
      default:
        text.push_back(body[i]);
    }
  }
  return text;
}

}  // namespace everstep::cli
