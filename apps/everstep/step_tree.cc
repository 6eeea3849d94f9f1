#include "step_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace everstep::cli {
namespace {

constexpr std::size_t kDrawnMax = 2'000;
constexpr std::size_t kNone = SIZE_MAX;
constexpr std::size_t kIndentsMax = 12;  // deeper forks would leave no room for names

class Layout {
 public:
  Layout(const std::vector<StepView>& steps, const Look& look) : steps_(steps), look_(look) {
    nodes_.resize(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) by_id_.emplace(steps[i].step_id, i);
  }

  std::vector<TreeRow> Draw() {
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Place(i);
      const Node& node = nodes_[i];
      if (node.above == kNone) {
        roots.push_back(i);
      } else {
        (node.joins ? nodes_[node.above].joins_here : nodes_[node.above].below).push_back(i);
      }
    }
    for (const std::size_t root : roots) Descend(root, "", 0);
    return std::move(rows_);
  }

 private:
  struct Node {
    std::size_t above = kNone;
    std::size_t depth = 0;
    bool joins = false;  // depends on more than one step
    bool placed = false;
    std::vector<std::size_t> below;
    std::vector<std::size_t> joins_here;
  };

  // Steps may be listed before those they depend on, so places are computed on demand. The engine
  // has checked that there is no cycle; this ends even if there is one.
  void Place(std::size_t step) {
    std::vector<std::size_t> open = {step};
    while (!open.empty()) {
      Node& node = nodes_[open.back()];
      const std::size_t waits_for = node.placed ? kNone : Unplaced(open.back());
      if (waits_for != kNone && open.size() <= steps_.size()) {
        open.push_back(waits_for);
        continue;
      }
      if (!node.placed) Settle(open.back());
      open.pop_back();
    }
  }

  std::size_t Unplaced(std::size_t step) const {
    for (const std::string& id : steps_[step].depends_on) {
      const auto found = by_id_.find(id);
      if (found != by_id_.end() && !nodes_[found->second].placed) return found->second;
    }
    return kNone;
  }

  void Settle(std::size_t step) {
    Node& node = nodes_[step];
    std::size_t count = 0;
    for (const std::string& id : steps_[step].depends_on) {
      const auto found = by_id_.find(id);
      if (found == by_id_.end()) continue;
      node.above = ++count == 1 ? found->second : Common(node.above, found->second);
    }
    node.joins = count > 1;
    node.depth = node.above == kNone ? 0 : nodes_[node.above].depth + 1;
    node.placed = true;
  }

  std::size_t Common(std::size_t one, std::size_t other) const {
    while (one != other && one != kNone && other != kNone) {
      std::size_t& deeper = nodes_[one].depth >= nodes_[other].depth ? one : other;
      deeper = nodes_[deeper].above;
    }
    return one == other ? one : kNone;
  }

  void Descend(std::size_t step, const std::string& indent, std::size_t level) {
    rows_.push_back({step, indent});
    const Node& node = nodes_[step];
    const std::string inner = Inner(indent);
    const bool forks = node.below.size() > 1 || !node.joins_here.empty();
    for (std::size_t i = 0; i < node.below.size(); ++i) {
      if (!forks || level >= kIndentsMax) {
        Descend(node.below[i], inner, level);
      } else {
        const bool is_last = i + 1 == node.below.size();
        const std::string_view mark =
            is_last ? look_.Glyph("└─ ", "`- ") : look_.Glyph("├─ ", "|- ");
        Descend(node.below[i], inner + std::string(mark), level + 1);
      }
    }
    for (const std::size_t join : node.joins_here) Descend(join, inner, level);
  }

  // Returns the indent of the lines below one that begins with `indent`.
  std::string Inner(std::string_view indent) const {
    const std::string_view branch = look_.Glyph("├─ ", "|- ");
    const std::string_view last = look_.Glyph("└─ ", "`- ");
    for (const std::string_view mark : {branch, last}) {
      if (!indent.ends_with(mark)) continue;
      std::string inner(indent.substr(0, indent.size() - mark.size()));
      return inner + (mark == branch ? std::string(look_.Glyph("│  ", "|  ")) : std::string("   "));
    }
    return std::string(indent);
  }

  const std::vector<StepView>& steps_;
  const Look& look_;
  std::unordered_map<std::string_view, std::size_t> by_id_;
  std::vector<Node> nodes_;
  std::vector<TreeRow> rows_;
};

}  // namespace

std::vector<TreeRow> LayOut(const std::vector<StepView>& steps, const Look& look) {
  if (steps.size() <= kDrawnMax) return Layout(steps, look).Draw();
  std::vector<TreeRow> rows(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) rows[i].step = i;
  return rows;
}

}  // namespace everstep::cli
