#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace everstep {

// A text in which JSON escapes are replaced by what they stand for, whichever characters its writer
// chose to escape, and however deep it stands in JSON in JSON. Knows where each byte came from.
// Backslashes that begin no escape stay.
class UnescapedText {
 public:
  explicit UnescapedText(std::string_view source);

  // Replaces the escapes of one level. Returns false if there were none.
  bool Next();
  // The source was truncated: an escape that its end may have cut off does not belong to the text.
  void DropCutEscape();

  const std::string& text() const { return text_; }
  // The part of the source, begin and end, that bytes [begin, end) of the text came from.
  std::pair<std::size_t, std::size_t> SourceOf(std::size_t begin, std::size_t end) const;

 private:
  std::string text_;
  std::vector<std::size_t> from_;  // of each byte, and of the end
};

}  // namespace everstep
