#include "tests/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace everstep {
namespace {

// Blanks from `begin` to `end`, but keeps line ends, so that line numbers stay the same.
void Blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

// The position after the literal whose opening quote is at `at`.
std::size_t LiteralEnd(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

// The position after R"delimiter( … )delimiter" whose quote is at `at`.
std::size_t RawLiteralEnd(std::string_view text, std::size_t at) {
  const std::size_t open = text.find('(', at);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string ToString(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out += finding.path;
    if (finding.line > 0) out += ":" + std::to_string(finding.line);
    out += ": " + finding.what + "\n";
  }
  return out;
}

std::vector<SourceFile> ReadSources(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  const fs::path root = EVERSTEP_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files.push_back({fs::relative(entry.path(), root).generic_string(), text.str()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string CodeOnly(std::string_view text) {
  std::string out(text);
  std::size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    std::size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = std::min(text.find('\n', i), text.size());
      Blank(out, i, end);
    } else if (rest.starts_with("/*")) {
      const std::size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      Blank(out, i, end);
    } else if (rest.front() == '"') {
      const bool raw = i > 0 && text[i - 1] == 'R';
      end = raw ? RawLiteralEnd(text, i) : LiteralEnd(text, i);
      Blank(out, i + 1, end - 1);
    } else if (rest.front() == '\'' && (i == 0 || !IsWordCharacter(text[i - 1]))) {
      // After a word character it is a digit separator: 1'000.
      end = LiteralEnd(text, i);
      Blank(out, i + 1, end - 1);
    }
    i = end;
  }
  return out;
}

bool IsHeader(const SourceFile& file) { return file.path.ends_with(".h"); }
bool IsCode(const SourceFile& file) { return IsHeader(file) || file.path.ends_with(".cc"); }
bool IsTest(const SourceFile& file) {
  return file.path.ends_with("_test.cc") || IsBelow(file, "tests");
}
bool IsBelow(const SourceFile& file, std::string_view folder) {
  return file.path.size() > folder.size() && file.path.starts_with(folder) &&
         file.path[folder.size()] == '/';
}

}  // namespace everstep
