#include "tests/layers.h"

#include <optional>
#include <sstream>

namespace everstep {
namespace {

std::string FirstFolder(std::string_view path) {
  return std::string(path.substr(0, std::min(path.find('/'), path.size())));
}

// The module that a file belongs to. A folder of apps/ may have its own line.
std::string ModuleOf(const Layers& layers, std::string_view path) {
  const std::string top = FirstFolder(path);
  if (top == "src") return FirstFolder(path.substr(4));
  if (top == "apps" && path.size() > 5) {
    const std::string app = "apps/" + FirstFolder(path.substr(5));
    if (layers.contains(app)) return app;
  }
  return top;
}

// "a/b.h" of the line `#include "a/b.h"`; nothing for <a/b.h>, which is never ours.
std::optional<std::string_view> QuotedInclude(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(' ');
  if (hash == std::string_view::npos || line[hash] != '#') return std::nullopt;
  line.remove_prefix(hash + 1);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.starts_with("include")) return std::nullopt;
  const std::size_t open = line.find('"');
  const std::size_t close = line.find('"', open + 1);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

bool Reaches(const Layers& layers, const std::string& from, const std::string& to,
             std::set<std::string>& seen) {
  const auto found = layers.find(from);
  if (found == layers.end() || !seen.insert(from).second) return false;
  for (const std::string& next : found->second) {
    if (next == to || Reaches(layers, next, to, seen)) return true;
  }
  return false;
}

}  // namespace

Layers ParseLayers(std::string_view text) {
  Layers layers;
  for (const std::string_view line : Lines(text)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words{std::string(line)};
    std::string module;
    std::string word;
    words >> module >> word;
    std::set<std::string>& below = layers[module];
    while (words >> word) below.insert(word);
  }
  return layers;
}

std::vector<Finding> CheckLayers(const Layers& layers) {
  std::vector<Finding> findings;
  for (const auto& [module, below] : layers) {
    for (const std::string& name : below) {
      if (!layers.contains(name)) {
        findings.push_back({"src/LAYERS", 0, module + " <- " + name + ": no such module"});
      }
    }
    std::set<std::string> seen;
    if (Reaches(layers, module, module, seen)) {
      findings.push_back({"src/LAYERS", 0, module + " depends on itself"});
    }
  }
  return findings;
}

std::vector<Finding> CheckIncludes(const Layers& layers, const SourceFile& file) {
  const std::string module = ModuleOf(layers, file.path);
  const auto line_of_module = layers.find(module);
  if (line_of_module == layers.end()) {
    return {{file.path, 0, "module '" + module + "' has no line in src/LAYERS"}};
  }
  std::vector<Finding> findings;
  int number = 0;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    const auto included = QuotedInclude(line);
    if (!included || included->find('/') == std::string_view::npos)
      continue;  // a file in the same folder
    std::string target = ModuleOf(layers, *included);
    if (target == "everstep") target = "include";
    if (target == module || target == "include") continue;
    if (IsTest(file) && target == "testing") continue;
    if (!layers.contains(target)) {
      if (IsBelow(file, "apps")) continue;  // a folder of the app itself
      findings.push_back({file.path, number, "unknown module '" + target + "'"});
    } else if (!line_of_module->second.contains(target)) {
      findings.push_back({file.path, number, module + " may not include " + target});
    }
  }
  return findings;
}

}  // namespace everstep
