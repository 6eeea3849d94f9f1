#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// A piece of a string with holes: literal text, or the inside of {{ … }}.
struct TemplatePiece {
  bool is_hole = false;
  std::string_view text;   // without the space that is trimmed around holes
  std::size_t offset = 0;  // where `text` begins
};

struct TemplateTextFault {
  std::size_t offset = 0;
  std::string message;
};

// Splits a string at its holes and drops {# comments #}. `{{-` before a space trims the space
// before the hole, `-}}` the space after it. Adds errors to `faults` and continues after them where
// possible; the pieces are complete only if there are no faults.
std::vector<TemplatePiece> CutTemplate(std::string_view text,
                                       std::vector<TemplateTextFault>& faults);

}  // namespace everstep
