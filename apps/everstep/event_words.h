#pragma once

#include <cstdint>
#include <string_view>

#include "look.h"
#include "native_event.h"

namespace everstep::cli {

// How an event is drawn and described.
struct EventWords {
  enum class Part : std::uint8_t { kOpens, kCloses, kNeither };

  std::string_view type;
  std::string_view glyph;
  std::string_view ascii;
  Colour colour;
  std::string_view words;  // "started"
  Part part;               // whether it opens or closes a time span of its entity
};

// `event` must outlive the result.
EventWords WordsFor(const NativeEvent& event);

}  // namespace everstep::cli
