#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"

namespace everstep {

// Where an event is published: text with the placeholders {type}, {tenant}, {project},
// {environment}, {plan} and {run}. {type} is the event's name in the sink's dialect and may contain
// dots.
class TopicTemplate {
 public:
  // Returns what is wrong with `text`, or nothing if it is valid. An empty text selects the
  // default.
  static std::optional<std::string> FaultOf(std::string_view text);

  // Requires: `text` has no fault.
  explicit TopicTemplate(std::string_view text);

  // Characters of values other than letters, digits, '-' and '_' become '_', so that a value cannot
  // change the structure of the topic; dots in {type} are kept.
  std::string Render(const RunScope& scope, const RunId& run_id, std::string_view type) const;

 private:
  struct Piece {
    std::string text;  // literal text, or
    char hole = 0;     // one letter that identifies the placeholder
  };
  std::vector<Piece> pieces_;
};

}  // namespace everstep
