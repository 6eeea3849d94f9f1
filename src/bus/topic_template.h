#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"

namespace everstep {

// Where an event is published to: text with {type}, {tenant}, {project}, {environment}, {plan},
// {run} in it. {type} is the event's name in the sink's dialect and may have dots.
class TopicTemplate {
 public:
  // What is wrong with it; nothing: it can be used. An empty one stands for the default.
  static std::optional<std::string> FaultOf(std::string_view text);

  // `text` must be without fault.
  explicit TopicTemplate(std::string_view text);

  // What is not a letter, digit, '-' or '_' in a value becomes '_', so that no value makes another
  // topic than it should; in {type} dots stay.
  std::string Render(const RunScope& scope, const RunId& run_id, std::string_view type) const;

 private:
  struct Piece {
    std::string text;  // as it is, or
    char hole = 0;     // a letter of the hole's name, different for each
  };
  std::vector<Piece> pieces_;
};

}  // namespace everstep
