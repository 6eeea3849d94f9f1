#include "flow/plan_faults.h"

#include <algorithm>
#include <utility>

namespace everstep {
namespace {

void AppendToken(std::string_view token, std::string& out) {
  out.push_back('/');
  for (const char c : token) {
    if (c == '~') {
      out.append("~0");
    } else if (c == '/') {
      out.append("~1");
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace

std::string Place::Pointer() const {
  if (parent == nullptr) return "";
  std::string pointer = parent->Pointer();
  AppendToken(index == kNotInList ? node->key : std::string_view(std::to_string(index)), pointer);
  return pointer;
}

void PlanFaults::Add(const Place& place, std::string message, ErrorCode code) {
  if (full()) return Add(Fault{}, code);
  Add(Fault{place.Pointer(), std::move(message), place.node->line, place.node->column}, code);
}

void PlanFaults::AddAtKey(const Place& place, std::string message) {
  if (full()) return Add(Fault{});
  Add(Fault{place.Pointer(), std::move(message), place.node->key_line, place.node->key_column});
}

void PlanFaults::AddInText(const Place& place, std::size_t offset, std::string message) {
  if (full()) return Add(Fault{});
  AddInText(*place.node, place.Pointer(), offset, std::move(message));
}

void PlanFaults::AddInText(const Node& node, std::string pointer, std::size_t offset,
                           std::string message) {
  if (full()) return Add(Fault{});
  const Position at = Locate(source_, node, offset);
  Add(Fault{std::move(pointer), std::move(message), at.line, at.column});
}

void PlanFaults::Add(Fault fault, ErrorCode code) {
  ++count_;
  if (std::find(codes_.begin(), codes_.end(), code) == codes_.end()) codes_.push_back(code);
  if (!full()) faults_.push_back(std::move(fault));
}

void PlanFaults::Warn(const Place& place, std::string code, std::string message) {
  if (warnings_ == nullptr || warnings_->size() >= kShownMax) return;
  warnings_->push_back(PlanWarning{std::move(code), place.Pointer(), std::move(message),
                                   place.node->line, place.node->column});
}

Error PlanFaults::ToError() && {
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& left, const Fault& right) {
    return std::pair(left.line, left.column) < std::pair(right.line, right.column);
  });
  std::string message =
      count_ == 1 ? "the plan has a fault" : "the plan has " + std::to_string(count_) + " faults";
  if (count_ > faults_.size()) {
    message.append("; these are the first ").append(std::to_string(faults_.size()));
  }
  // ErrorCode declares these codes in order of precedence.
  return Error{*std::min_element(codes_.begin(), codes_.end()), std::move(message),
               std::move(faults_)};
}

}  // namespace everstep
