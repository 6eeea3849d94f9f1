#include "tests/tidy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>

namespace everstep {
namespace {

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kLinesMax = 500;

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The position of `word` in `text`, starting at `from`, but not inside a longer word.
std::size_t FindWord(std::string_view text, std::string_view word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = !IsWordCharacter(word.front()) || at == 0 || !IsWordCharacter(text[at - 1]);
    const bool ends =
        !IsWordCharacter(word.back()) || end == text.size() || !IsWordCharacter(text[end]);
    if (begins && ends) return at;
  }
  return std::string_view::npos;
}

int LineOf(std::string_view text, std::size_t at) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
  return static_cast<int>(std::count(text.begin(), end, '\n')) + 1;
}

void FindWords(const SourceFile& file, std::string_view text, std::string_view word,
               const std::string& what, std::vector<Finding>& findings) {
  for (std::size_t at = FindWord(text, word, 0); at != std::string_view::npos;
       at = FindWord(text, word, at + 1)) {
    findings.push_back({file.path, LineOf(text, at), what});
  }
}

// The ports: everything that talks to the outside world on behalf of the rest of the program.
bool IsPort(const SourceFile& file) {
  return file.path == "src/base/system_ports.cc" || IsBelow(file, "apps");
}
bool IsPortOrMeasures(const SourceFile& file) { return IsPort(file) || IsBelow(file, "bench"); }
bool IsPortOrTest(const SourceFile& file) { return IsPort(file) || IsTest(file); }
bool WritesToTheStore(const SourceFile& file) {
  return file.path == "src/engine/store_order.cc" || IsBelow(file, "src/store") ||
         IsBelow(file, "src/testing") || IsTest(file);
}

struct BannedCall {
  std::string_view word;
  bool (*allowed)(const SourceFile&);
  std::string_view instead;
};

constexpr std::array kBannedCalls = {
    BannedCall{"::now(", IsPortOrMeasures, "time comes from a Clock"},
    BannedCall{"gettimeofday(", IsPort, "time comes from a Clock"},
    BannedCall{"clock_gettime(", IsPortOrMeasures, "time comes from a Clock"},
    BannedCall{"time(nullptr)", IsPort, "time comes from a Clock"},
    BannedCall{"sleep_for", IsPort, "wait for an event, not for time"},
    BannedCall{"sleep_until", IsPort, "wait for an event, not for time"},
    BannedCall{"usleep", IsPort, "wait for an event, not for time"},
    BannedCall{"nanosleep", IsPort, "wait for an event, not for time"},
    BannedCall{"random_device", IsPort, "randomness comes from a Random"},
    BannedCall{"rand(", IsPort, "randomness comes from a Random"},
    BannedCall{"getenv", IsPortOrTest, "settings come as options"},
    BannedCall{".PutDocuments(", WritesToTheStore, "only the committer writes; use its Put"},
    BannedCall{".PutPlan(", WritesToTheStore, "only the committer writes; give it an order"},
    BannedCall{".MoveSink(", WritesToTheStore, "only the committer writes; give it an order"},
    BannedCall{".RemoveSink(", WritesToTheStore, "only the committer writes; give it an order"},
};

constexpr std::array<std::string_view, 3> kAssertingModules = {"src/engine", "src/run",
                                                               "src/store"};
constexpr std::size_t kAssertionsPer1000Lines = 10;

constexpr std::array<std::string_view, 4> kLeftovers = {"TODO", "FIXME", "XXX", "HACK"};

struct UnclearWord {
  std::string_view word;
  std::string_view instead;
};

constexpr std::array kUnclearWords = {
    UnclearWord{"told", "say what is reported, logged, notified or asked"},
    UnclearWord{"he", "name the caller, the user or the process"},
    UnclearWord{"his", "name the caller, the user or the process"},
};

constexpr std::array<std::string_view, 7> kEmptyWords = {"Manager", "Helper", "Util", "Utils",
                                                         "Info",    "Data",   "V2"};

// Returns whether `word` is one of the words of `name`: "Info" is in "RunInfo" and "InfoPage", not
// in "Informed".
bool HasWord(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (end == name.size() || std::islower(static_cast<unsigned char>(name[end])) == 0) return true;
  }
  return false;
}

std::string_view WordAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsWordCharacter(text[end])) ++end;
  return text.substr(at, end - at);
}

// Calls `visit` with the name and position of each type that the code defines or declares.
void VisitTypeNames(std::string_view code,
                    const std::function<void(std::string_view, std::size_t)>& visit) {
  for (const std::string_view keyword : {"class", "struct", "enum", "union", "using", "concept"}) {
    for (std::size_t at = FindWord(code, keyword, 0); at != std::string_view::npos;
         at = FindWord(code, keyword, at + 1)) {
      std::size_t name = at + keyword.size();
      while (name < code.size() && std::isspace(static_cast<unsigned char>(code[name])) != 0)
        ++name;
      visit(WordAt(code, name), name);
    }
  }
}

// Counts characters, not bytes: a UTF-8 sequence has exactly one non-continuation byte.
std::size_t Columns(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::vector<Finding> FindBannedCalls(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!IsCode(file)) return findings;
  const std::string code = CodeOnly(file.text);
  for (const BannedCall& banned : kBannedCalls) {
    if (banned.allowed(file)) continue;
    const std::string what = std::string(banned.word) + ": " + std::string(banned.instead);
    FindWords(file, code, banned.word, what, findings);
  }
  return findings;
}

std::vector<Finding> FindLeftovers(const SourceFile& file) {
  std::vector<Finding> findings;
  if (file.path.starts_with("tests/tidy")) return findings;  // these words are named there
  for (const std::string_view word : kLeftovers) {
    FindWords(file, file.text, word, std::string(word) + " left in the text", findings);
  }
  return findings;
}

std::vector<Finding> FindUnclearWords(const SourceFile& file) {
  std::vector<Finding> findings;
  if (file.path.starts_with("tests/tidy")) return findings;  // these words are named there
  for (const UnclearWord& unclear : kUnclearWords) {
    const std::string what = std::string(unclear.word) + ": " + std::string(unclear.instead);
    FindWords(file, file.text, unclear.word, what, findings);
  }
  return findings;
}

std::vector<Finding> FindEmptyNames(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!IsCode(file)) return findings;
  const std::string code = CodeOnly(file.text);
  VisitTypeNames(code, [&](std::string_view name, std::size_t at) {
    for (const std::string_view word : kEmptyWords) {
      if (!HasWord(name, word)) continue;
      findings.push_back(
          {file.path, LineOf(code, at),
           std::string(name) + ": '" + std::string(word) + "' does not say what it is"});
      return;
    }
  });
  return findings;
}

std::vector<Finding> FindAtticFolders(const SourceFile& file) {
  for (const std::string_view folder : {"utils/", "util/", "common/", "helpers/", "misc/"}) {
    const std::size_t at = file.path.find(folder);
    if (at != std::string::npos && (at == 0 || file.path[at - 1] == '/')) {
      return {{file.path, 0, "no folder " + std::string(folder) + ": say what it holds"}};
    }
  }
  return {};
}

std::vector<Finding> FindLongLines(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!IsCode(file)) return findings;
  int number = 0;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    const std::size_t columns = Columns(line);
    if (columns > kColumnsMax) {
      findings.push_back({file.path, number, std::to_string(columns) + " columns"});
    }
  }
  return findings;
}

std::vector<Finding> FindLongFile(const SourceFile& file) {
  const std::size_t lines = Lines(file.text).size();
  if (!IsCode(file) || lines <= kLinesMax) return {};
  return {{file.path, 0, std::to_string(lines) + " lines: this is two files"}};
}

std::vector<Finding> FindCatchAll(const SourceFile& file) {
  std::vector<Finding> findings;
  // Foreign code is called at the edge, and its exceptions end there.
  if (!IsCode(file) || IsBelow(file, "apps")) return findings;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view form : {"catch (...)", "catch(...)", "catch (... )"}) {
    FindWords(file, code, form, "catch (...): name what is caught", findings);
  }
  return findings;
}

std::vector<Finding> FindTestWithoutAssertion(const SourceFile& file) {
  if (!file.path.ends_with("_test.cc")) return {};
  const std::string code = CodeOnly(file.text);
  for (const std::string_view assertion :
       {"EXPECT_", "ASSERT_", "RC_ASSERT", "RC_FAIL", "ADD_FAILURE", "FAIL("}) {
    if (code.find(assertion) != std::string::npos) return {};
  }
  return {{file.path, 0, "nothing in this test can fail"}};
}

std::vector<Finding> FindUnguardedHeader(const SourceFile& file) {
  if (!IsHeader(file)) return {};
  const std::string code = CodeOnly(file.text);
  for (const std::string_view line : Lines(code)) {
    if (line == "#pragma once") return {};
  }
  return {{file.path, 0, "no #pragma once"}};
}

std::vector<Finding> FindRepeatedTypes(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  std::map<std::string, std::string> known;  // type -> file
  for (const SourceFile& file : files) {
    const bool shared = file.path.starts_with("src/") || file.path.starts_with("include/");
    if (!shared || !IsHeader(file)) continue;
    const std::string code = CodeOnly(file.text);
    for (const std::string_view line : Lines(code)) {
      std::string_view rest = line;
      // Only at the left margin: nested types have their own scope.
      for (const std::string_view word : {"struct ", "class ", "enum class "}) {
        if (rest.starts_with(word)) rest.remove_prefix(word.size());
      }
      if (rest.size() == line.size() || line.ends_with(';')) continue;
      const std::size_t end = std::min(rest.find_first_of(" :{<"), rest.size());
      if (rest.substr(end).starts_with("::")) continue;
      const std::string name(rest.substr(0, end));
      const auto [place, is_new] = known.emplace(name, file.path);
      if (!is_new && place->second != file.path) {
        findings.push_back({file.path, 0, "a type " + name + " is in " + place->second + " too"});
      }
    }
  }
  return findings;
}

std::vector<Finding> FindTooFewAssertions(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  for (const std::string_view module : kAssertingModules) {
    std::size_t lines = 0;
    std::vector<Finding> assertions;
    for (const SourceFile& file : files) {
      if (!IsBelow(file, module) || !IsCode(file) || IsTest(file)) continue;
      lines += Lines(file.text).size();
      const std::string code = CodeOnly(file.text);
      FindWords(file, code, "EVERSTEP_ASSERT", {}, assertions);
      FindWords(file, code, "static_assert", {}, assertions);
    }
    if (assertions.size() * 1000 >= lines * kAssertionsPer1000Lines) continue;
    findings.push_back({std::string(module), 0,
                        std::to_string(assertions.size()) + " assertions in " +
                            std::to_string(lines) + " lines; add some, at least " +
                            std::to_string(kAssertionsPer1000Lines) + " per 1,000 are required"});
  }
  return findings;
}

std::vector<Finding> CompareErrorPages(const std::set<std::string>& codes,
                                       const std::set<std::string>& pages) {
  std::vector<Finding> findings;
  for (const std::string& code : codes) {
    if (!pages.contains(code + ".md")) {
      findings.push_back({"docs/errors/" + code + ".md", 0, "the page is missing"});
    }
  }
  for (const std::string& page : pages) {
    const std::string code = page.substr(0, page.rfind(".md"));
    if (page != "README.md" && !codes.contains(code)) {
      findings.push_back({"docs/errors/" + page, 0, "there is no such error code"});
    }
  }
  return findings;
}

}  // namespace everstep
