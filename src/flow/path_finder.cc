#include "flow/path_finder.h"

#include <functional>

namespace everstep {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Finds `words` in `text`, but not as a part of a longer name.
std::size_t FindWords(std::string_view text, std::string_view words, std::size_t from) {
  for (std::size_t at = text.find(words, from); at != std::string_view::npos;
       at = text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    const bool begins = at == 0 || (!IsNameCharacter(text[at - 1]) && text[at - 1] != '.');
    const bool ends =
        end == text.size() || !IsNameCharacter(words.back()) || !IsNameCharacter(text[end]);
    if (begins && ends) return at;
  }
  return std::string_view::npos;
}

using Search = std::function<std::optional<std::size_t>(std::string_view)>;

std::optional<PathPlace> FirstText(const Node& node, const std::string& pointer,
                                   const Search& search) {
  if (node.is_text()) {
    const auto offset = search(node.text());
    if (!offset) return std::nullopt;
    return PathPlace{&node, pointer, *offset};
  }
  std::size_t index = 0;
  for (const Node& child : node.children()) {
    std::string token = node.is_map() ? std::string() : std::to_string(index++);
    for (const char c : node.is_map() ? child.key : std::string_view()) {
      if (c == '~' || c == '/') {
        token.append(c == '~' ? "~0" : "~1");
      } else {
        token.push_back(c);
      }
    }
    if (auto found = FirstText(child, pointer + "/" + token, search)) return found;
  }
  return std::nullopt;
}

// Whether the hole is exactly secrets.NAME, secrets['NAME'] or secrets["NAME"].
bool IsBareSecret(std::string_view hole) {
  const std::size_t begin = hole.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  hole = hole.substr(begin, hole.find_last_not_of(" \t\r\n") + 1 - begin);
  constexpr std::string_view kRoot = "secrets";
  if (!hole.starts_with(kRoot)) return false;
  hole.remove_prefix(kRoot.size());
  if (hole.size() > 4 && hole.front() == '[' && hole.back() == ']') {
    hole = hole.substr(1, hole.size() - 2);
    if (hole.front() != hole.back() || (hole.front() != '\'' && hole.front() != '"')) return false;
    hole = hole.substr(1, hole.size() - 2);
  } else if (hole.starts_with('.')) {
    hole.remove_prefix(1);
  } else {
    return false;
  }
  for (const char c : hole) {
    if (!IsNameCharacter(c)) return false;
  }
  return !hole.empty();
}

}  // namespace

std::optional<PathPlace> FindPath(const Node& node, const Expression::Path& path) {
  std::vector<std::string> spellings;
  if (path.size() > 1) {
    spellings = {path[0] + "." + path[1], path[0] + "['" + path[1] + "'",
                 path[0] + "[\"" + path[1] + "\""};
  }
  if (!path.empty()) spellings.push_back(path[0]);
  for (const std::string& spelling : spellings) {
    const auto search = [&](std::string_view text) -> std::optional<std::size_t> {
      const std::size_t hole = text.find("{{");
      const std::size_t at =
          FindWords(text, spelling, hole == std::string_view::npos ? 0 : hole + 2);
      if (at == std::string_view::npos) return std::nullopt;
      return at;
    };
    if (auto found = FirstText(node, "", search)) return found;
  }
  return std::nullopt;
}

std::optional<PathPlace> FindSecretInExpression(const Node& node) {
  const auto search = [](std::string_view text) -> std::optional<std::size_t> {
    for (std::size_t hole = text.find("{{"); hole != std::string_view::npos;
         hole = text.find("{{", hole + 2)) {
      const std::size_t end = text.find("}}", hole);
      if (end == std::string_view::npos) break;
      const std::string_view inside = text.substr(hole + 2, end - hole - 2);
      const std::size_t secret = FindWords(inside, "secrets", 0);
      if (secret != std::string_view::npos && !IsBareSecret(inside)) return hole + 2 + secret;
    }
    return std::nullopt;
  };
  return FirstText(node, "", search);
}

}  // namespace everstep
