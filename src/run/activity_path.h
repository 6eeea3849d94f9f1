#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

// The id of an activity as a path through the scopes that contain it:
//
//   path    = segment *( "/" segment )
//   segment = name [ "[" index "]" ] [ "#" visit ]
//
// "Outer[2]/Charge#3" is the third visit of Charge in iteration 2 of Outer. A visit is written from
// the second on, so that a step that runs once has its plain name. In names '%', '/', '[', ']',
// '#',
// '|' and control characters are escaped as in URLs (%2F). Different paths have different texts.
//
// Plans keep the ids that they always had ("fetch", "fetch:3", "fetch:undo": run/plan_unit.h).
class ActivityPath {
 public:
  static constexpr std::uint32_t kNoIndex = UINT32_MAX;
  // Of an id: what a signal can name, and short enough for the waits, hooks and calls that are
  // named after it ("timeout:ID:ATTEMPT").
  static constexpr std::size_t kIdCharactersMax = 128;

  ActivityPath() = default;  // of the run itself

  // `visit` counts from 1.
  ActivityPath Child(std::string_view name, std::uint32_t visit = 1) const;
  // This scope's iteration `index`. Of a path that ends with a child without an index.
  ActivityPath At(std::uint32_t index) const;

  // The id in the log: the path's text, or, if that is longer than kIdCharactersMax, its beginning
  // followed by "~" and 32 hexadecimal digits of the SHA-256 of the whole text.
  std::string Id() const;
  const std::string& text() const { return text_; }

  bool operator==(const ActivityPath&) const = default;

 private:
  std::string text_;
  std::string suffix_;  // of the last segment: its visit, which comes after the index
};

}  // namespace everstep
