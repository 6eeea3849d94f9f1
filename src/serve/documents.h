#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace everstep {

// Files of the source tree that are a part of the program, because the server hands them out.
struct ServedDocument {
  std::string_view name;  // of the file, without its folder
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

// The page of an error code, Markdown.
inline std::optional<std::string_view> ErrorPage(std::string_view code) {
  return FindServedDocument(std::string(code) + ".md");
}

}  // namespace everstep
