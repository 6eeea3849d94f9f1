#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flow/document.h"
#include "flow/plan.h"

namespace everstep {

// A node and the path to it from the root, linked through the stack, so that the pointer is only
// built when a fault is reported.
struct Place {
  static constexpr std::size_t kNotInList = SIZE_MAX;

  const Place* parent = nullptr;
  const Node* node = nullptr;
  std::size_t index = kNotInList;

  Place Member(const Node& member) const { return {this, &member, kNotInList}; }
  Place Item(std::size_t at) const { return {this, &node->children()[at], at}; }
  std::string Pointer() const;
};

// Collects the faults of a plan.
class PlanFaults {
 public:
  // The maximum number of faults that are reported. The error says how many there are in all.
  static constexpr std::size_t kShownMax = 100;

  // `source` is the text of the document and must outlive this object. `warnings` may be null.
  PlanFaults(std::string_view source, std::vector<PlanWarning>* warnings)
      : source_(source), warnings_(warnings) {}

  void Add(const Place& place, std::string message, ErrorCode code = ErrorCode::kInvalidPlan);
  // Adds a fault at the key of a member, not at its value.
  void AddAtKey(const Place& place, std::string message);
  // Adds a fault at byte `offset` of a text.
  void AddInText(const Place& place, std::size_t offset, std::string message);
  void AddInText(const Node& node, std::string pointer, std::size_t offset, std::string message);
  void Add(Fault fault, ErrorCode code = ErrorCode::kInvalidPlan);
  void Warn(const Place& place, std::string code, std::string message);

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  // True if no more faults are reported, so that callers can skip expensive diagnostics.
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
