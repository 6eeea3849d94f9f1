#pragma once

#include <string>
#include <string_view>

namespace everstep {

// Puts text in single quotes, for messages.
inline std::string Quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('\'');
  out.append(text);
  out.push_back('\'');
  return out;
}

}  // namespace everstep
