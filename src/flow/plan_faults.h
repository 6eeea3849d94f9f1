#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flow/document.h"
#include "flow/plan.h"

namespace everstep {

// A node and the way to it from the root, as a chain on the stack: its pointer is written only
// when there is something to say about it.
struct Place {
  static constexpr std::size_t kNotInList = SIZE_MAX;

  const Place* parent = nullptr;
  const Node* node = nullptr;
  std::size_t index = kNotInList;

  Place Member(const Node& member) const { return {this, &member, kNotInList}; }
  Place Item(std::size_t at) const { return {this, &node->children()[at], at}; }
  std::string Pointer() const;
};

// Collects what is wrong with a plan.
class PlanFaults {
 public:
  // Enough to mend a plan by; a plan with more is told how many there are.
  static constexpr std::size_t kShownMax = 100;

  // `source`: the document's text. `warnings` may be null.
  PlanFaults(std::string_view source, std::vector<PlanWarning>* warnings)
      : source_(source), warnings_(warnings) {}

  void Add(const Place& place, std::string message, ErrorCode code = ErrorCode::kInvalidPlan);
  // About the member's name, not its value.
  void AddAtKey(const Place& place, std::string message);
  // About byte `offset` of a text.
  void AddInText(const Place& place, std::size_t offset, std::string message);
  void AddInText(const Node& node, std::string pointer, std::size_t offset, std::string message);
  void Add(Fault fault, ErrorCode code = ErrorCode::kInvalidPlan);
  void Warn(const Place& place, std::string code, std::string message);

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  // Enough faults for one report: what costs time to find out need not be found out.
  bool full() const { return faults_.size() >= kShownMax; }
  Error ToError() &&;

 private:
  std::string_view source_;
  std::vector<PlanWarning>* warnings_;
  std::vector<Fault> faults_;
  std::size_t count_ = 0;
  std::vector<ErrorCode> codes_;
};

}  // namespace everstep
