#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// A piece of a string with holes: text as it stands, or the inside of {{ … }}.
struct TemplatePiece {
  bool is_hole = false;
  std::string_view text;   // of the string; what is cut away around holes is not in it
  std::size_t offset = 0;  // where `text` begins
};

struct TemplateTextFault {
  std::size_t offset = 0;
  std::string message;
};

// Cuts a string at its holes. {# comments #} are left out; `{{-` before a space and `-}}` take the
// space before and behind with them. Adds what is wrong to `faults` and goes on where that makes
// sense; the pieces are complete only when there is none.
std::vector<TemplatePiece> CutTemplate(std::string_view text,
                                       std::vector<TemplateTextFault>& faults);

}  // namespace everstep
