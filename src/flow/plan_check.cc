#include <algorithm>

#include "flow/nearest.h"
#include "flow/plan_draft.h"

namespace everstep {
namespace {

constexpr std::size_t kCycleShownMax = 20;  // steps of one cycle
constexpr std::size_t kSuggestionsMax = 5'000;

class StepLinks {
 public:
  StepLinks(PlanDraft& draft, PlanFaults& faults)
      : plan_(*draft.plan),
        draft_(draft),
        faults_(faults),
        steps_place_(draft.place.Member(*draft.steps_node)) {}

  bool Link() {
    IndexIds();
    ReadFallbacks();
    draft_.sequential =
        std::none_of(draft_.steps.begin(), draft_.steps.end(),
                     [](const StepDraft& step) { return step.depends_on != nullptr; });
    if (draft_.sequential) {
      LinkInOrder();
    } else {
      for (StepIndex i = 0; i < plan_.steps.size(); ++i) ReadDependencies(i);
    }
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      for (const StepIndex before : plan_.steps[i].depends_on) {
        plan_.steps[before].dependants.push_back(i);
      }
    }
    return FindCycles() && fallbacks_end_;
  }

 private:
  Place StepPlace(StepIndex step) const { return steps_place_.Item(step); }

  void IndexIds() {
    plan_.by_id.reserve(plan_.steps.size());
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      const std::string& id = plan_.steps[i].step_id;
      if (id.empty()) continue;
      const auto [first, added] = plan_.by_id.emplace(id, i);
      if (added) continue;
      const Place step = StepPlace(i);
      const Node* first_id = draft_.steps[first->second].node->Find("stepId");
      faults_.Add(step.Member(*step.node->Find("stepId")),
                  "two steps are called '" + id + "'; the first is at line " +
                      std::to_string(first_id->line) + ". Rename one of them");
    }
  }

  // Looks up the step whose id is the text at `place`. Returns kNoStep after a fault.
  StepIndex Named(const Place& place) {
    const std::string id(place.node->text());
    const StepIndex step = plan_.Find(id);
    if (step != kNoStep || faults_.full()) {
      if (step == kNoStep) faults_.Add(Fault{});
      return step;
    }
    std::vector<std::string_view> known;
    for (const PlanStep& other : plan_.steps) {
      if (known.size() == kSuggestionsMax) break;
      known.push_back(other.step_id);
    }
    faults_.Add(place, "there is no step '" + id + "'" + DidYouMean(id, known));
    return kNoStep;
  }

  void ReadFallbacks() {
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      const Node* node = draft_.steps[i].fallback;
      if (node == nullptr) continue;
      const Place step = StepPlace(i);
      const Place on_failure = step.Member(*step.node->Find("onFailure"));
      const Place place = on_failure.Member(*node);
      const StepIndex fallback = Named(place);
      if (fallback == kNoStep) continue;
      if (fallback == i) {
        faults_.Add(place, "a step cannot be its own fallback; name another step");
      } else if (plan_.steps[fallback].fallback_of != kNoStep) {
        const StepIndex other = plan_.steps[fallback].fallback_of;
        faults_.Add(place, "'" + plan_.steps[fallback].step_id + "' is the fallback of '" +
                               plan_.steps[other].step_id + "' already; give each step its own");
      } else {
        plan_.steps[i].fallback = fallback;
        plan_.steps[fallback].fallback_of = i;
      }
    }
    CheckFallbackChains();
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      const Node* depends_on = draft_.steps[i].depends_on;
      if (plan_.steps[i].fallback_of == kNoStep || depends_on == nullptr) continue;
      faults_.AddAtKey(StepPlace(i).Member(*depends_on),
                       "a fallback runs when '" + plan_.steps[plan_.steps[i].fallback_of].step_id +
                           "' fails and depends on nothing else; remove this");
    }
  }

  // Each step has at most one fallback and is the fallback of at most one step, so steps that
  // cannot be reached from the start of a chain form a cycle.
  void CheckFallbackChains() {
    std::vector<bool> reached(plan_.steps.size());
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].fallback_of != kNoStep) continue;
      for (StepIndex at = i; at != kNoStep; at = plan_.steps[at].fallback) reached[at] = true;
    }
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      if (reached[i]) continue;
      fallbacks_end_ = false;
      std::vector<StepIndex> circle;
      for (StepIndex at = i; !reached[at]; at = plan_.steps[at].fallback) {
        reached[at] = true;
        circle.push_back(at);
      }
      faults_.Add(StepPlace(i), "these steps are each other's fallback, so that none would run: " +
                                    Written(circle) + ". Remove one of the fallbacks");
    }
  }

  void LinkInOrder() {
    StepIndex before = kNoStep;
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].fallback_of != kNoStep) continue;
      if (before != kNoStep) plan_.steps[i].depends_on.push_back(before);
      before = i;
    }
  }

  void ReadDependencies(StepIndex step) {
    const Node* node = draft_.steps[step].depends_on;
    if (node == nullptr || plan_.steps[step].fallback_of != kNoStep) return;
    const Place step_place = StepPlace(step);
    const Place list = step_place.Member(*node);
    std::vector<StepIndex>& depends_on = plan_.steps[step].depends_on;
    for (std::size_t i = 0; i < node->children().size(); ++i) {
      const Place place = list.Item(i);
      if (!place.node->is_text()) {
        FaultKind(place, "text, a step id", faults_);
        continue;
      }
      const StepIndex before = Named(place);
      if (before == kNoStep) continue;
      const PlanStep& other = plan_.steps[before];
      if (before == step) {
        faults_.Add(place, "a step cannot depend on itself; remove this");
      } else if (other.fallback_of != kNoStep) {
        faults_.Add(place, "'" + other.step_id + "' is a fallback; depend on '" +
                               plan_.steps[other.fallback_of].step_id +
                               "' instead, which it replaces on failure");
      } else {
        depends_on.push_back(before);
      }
    }
    KeepFirst(depends_on);
  }

  // Drops repeated steps and keeps the order.
  void KeepFirst(std::vector<StepIndex>& steps) {
    marked_.resize(plan_.steps.size());
    const auto repeated = [&](StepIndex step) {
      const bool again = marked_[step];
      marked_[step] = true;
      return again;
    };
    steps.erase(std::remove_if(steps.begin(), steps.end(), repeated), steps.end());
    for (const StepIndex step : steps) marked_[step] = false;
  }

  std::string Written(const std::vector<StepIndex>& circle) const {
    std::string text;
    for (std::size_t i = 0; i < circle.size(); ++i) {
      if (i == kCycleShownMax) {
        text.append("… (").append(std::to_string(circle.size() - i)).append(" more) -> ");
        break;
      }
      text.append(plan_.steps[circle[i]].step_id).append(" -> ");
    }
    return text + plan_.steps[circle[0]].step_id;
  }

  // Kahn's algorithm: removes steps that wait for nothing, repeatedly. Steps that are left are on a
  // cycle or depend on one.
  bool FindCycles() {
    std::vector<std::size_t> waits(plan_.steps.size());
    std::vector<StepIndex> ready;
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      waits[i] = plan_.steps[i].depends_on.size();
      if (waits[i] == 0) ready.push_back(i);
    }
    std::size_t ordered = 0;
    while (!ready.empty()) {
      const StepIndex step = ready.back();
      ready.pop_back();
      ++ordered;
      for (const StepIndex next : plan_.steps[step].dependants) {
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
    if (ordered == plan_.steps.size()) return true;
    FaultCycles(waits);
    return false;
  }

  // Walks from each remaining step along its dependencies until a step repeats. Every walk ends in
  // a cycle, and each cycle found is reported once.
  void FaultCycles(const std::vector<std::size_t>& waits) {
    std::vector<StepIndex> walk_of(plan_.steps.size(), kNoStep);
    for (StepIndex start = 0; start < plan_.steps.size(); ++start) {
      if (waits[start] == 0 || walk_of[start] != kNoStep) continue;
      std::vector<StepIndex> walk;
      StepIndex at = start;
      while (walk_of[at] == kNoStep) {
        walk_of[at] = start;
        walk.push_back(at);
        for (const StepIndex before : plan_.steps[at].depends_on) {
          if (waits[before] == 0) continue;
          at = before;
          break;
        }
      }
      if (walk_of[at] != start) continue;
      walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
      std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
      const Place step = StepPlace(walk[0]);
      faults_.Add(step.Member(*draft_.steps[walk[0]].depends_on),
                  "these steps wait for each other: " + Written(walk) +
                      " (-> is 'depends on'). Remove one of the dependencies");
    }
  }

  Plan& plan_;
  PlanDraft& draft_;
  PlanFaults& faults_;
  Place steps_place_;
  std::vector<bool> marked_;
  bool fallbacks_end_ = true;
};

}  // namespace

bool LinkSteps(PlanDraft& draft, PlanFaults& faults) { return StepLinks(draft, faults).Link(); }

}  // namespace everstep
