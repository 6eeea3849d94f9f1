#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace everstep {

// Files of the source tree that are compiled into the program because the server serves them.
struct ServedDocument {
  std::string_view name;  // the file name without its directory
  std::string_view text;
};
std::span<const ServedDocument> ServedDocuments();

inline std::optional<std::string_view> FindServedDocument(std::string_view name) {
  for (const ServedDocument& document : ServedDocuments()) {
    if (document.name == name) return document.text;
  }
  return std::nullopt;
}

inline std::string_view OpenApiDocument() {
  return FindServedDocument("openapi.json").value_or("{}");
}

// The page of an error code, in Markdown.
inline std::optional<std::string_view> ErrorPage(std::string_view code) {
  return FindServedDocument(std::string(code) + ".md");
}

}  // namespace everstep
