#include <algorithm>
#include <array>
#include <unordered_set>

#include "flow/nearest.h"
#include "flow/path_finder.h"
#include "flow/plan_draft.h"
#include "flow/step_ancestors.h"

namespace everstep {
namespace {

// The names that an expression in some place of a plan may use, besides `inputs`, `params` and
// `run`, which are always available.
struct Scope {
  bool steps = true;
  bool item = false;
  bool secrets = false;
  bool result = false;
  bool own_step = false;
};

Scope ScopeOf(TemplateRole role) {
  switch (role) {
    case TemplateRole::kInputs:
      return {.item = true, .secrets = true};
    case TemplateRole::kOutputs:
      return {.item = true, .result = true};
    case TemplateRole::kWait:
    case TemplateRole::kKey:
      return {.item = true};
    case TemplateRole::kCompensate:
      return {.item = true, .secrets = true, .own_step = true};
    case TemplateRole::kCompensateKey:
      return {.item = true, .own_step = true};
    case TemplateRole::kWhen:
    case TemplateRole::kForeach:
    case TemplateRole::kPlanOutputs:
      return {};
    case TemplateRole::kPlanKey:
      return {.steps = false};
  }
  return {};
}

class NameCheck {
 public:
  NameCheck(const PlanDraft& draft, PlanFaults& faults)
      : draft_(draft), plan_(*draft.plan), faults_(faults) {
    for (const PlanInput& input : plan_.inputs) inputs_.insert(input.name);
  }

  void Check() {
    for (const TemplateUse& use : draft_.uses) {
      for (const Expression::Path& path : use.compiled.paths()) CheckPath(use, path);
    }
    CheckOrder();
  }

 private:
  struct StepUse {
    const TemplateUse* use;
    const Expression::Path* path;
  };

  void Add(const TemplateUse& use, const Expression::Path& path, std::string message) {
    if (faults_.full()) return faults_.Add(Fault{});
    AddAt(use, FindPath(*use.node, path), std::move(message));
  }

  void AddAt(const TemplateUse& use, const std::optional<PathPlace>& found, std::string message) {
    if (!found) return faults_.AddInText(*use.node, use.pointer, 0, std::move(message));
    faults_.AddInText(*found->node, use.pointer + found->pointer, found->offset,
                      std::move(message));
  }

  void CheckPath(const TemplateUse& use, const Expression::Path& path) {
    if (path.empty()) return;
    const Scope scope = ScopeOf(use.role);
    const std::string& root = path[0];
    if (root == "run") return;
    if (root == "inputs" || root == "params") return CheckInput(use, path);
    if (root == "steps" && scope.steps) return CheckStep(use, path);
    if (root == "secrets" && scope.secrets) return CheckSecret(use, path);
    if (root == "result" && scope.result) return;
    if (scope.item && use.step != kNoStep) {
      const auto& loop = plan_.steps[use.step].foreach;
      if (loop && (root == loop->item_name || root == loop->index_name)) return;
    }
    Add(use, path, UnknownRoot(use, root, scope));
  }

  std::string UnknownRoot(const TemplateUse& use, const std::string& root, const Scope& scope) {
    if (root == "secrets") {
      return "secrets can be used only in the inputs of a step or of its compensation";
    }
    if (root == "result")
      return "'result' is available only in the 'outputs' of a step; use steps.…";
    if (root == "steps") return "no step has run when this is evaluated; use inputs";
    const auto* loop = use.step == kNoStep || !plan_.steps[use.step].foreach
                           ? nullptr
                           : &*plan_.steps[use.step].foreach;
    if (loop != nullptr && (root == loop->item_name || root == loop->index_name)) {
      return "'" + root + "' is not available here: this is evaluated once, before the loop";
    }
    std::vector<std::string_view> known = {"inputs", "run"};
    if (scope.steps) known.push_back("steps");
    if (scope.secrets) known.push_back("secrets");
    if (scope.result) known.push_back("result");
    if (scope.item && loop != nullptr) {
      known.push_back(loop->item_name);
      known.push_back(loop->index_name);
    }
    std::string message = "unknown name '" + root + "'; available here: ";
    for (std::size_t i = 0; i < known.size(); ++i) {
      message.append(i == 0 ? "" : ", ").append(known[i]);
    }
    if (loop == nullptr && (root == "item" || root == "index")) {
      return message + "; a step with 'foreach' has item and index";
    }
    if (plan_.Find(root) != kNoStep) return message + "; the step is steps." + root;
    if (inputs_.contains(root)) return message + "; the input is inputs." + root;
    return message + DidYouMean(root, known);
  }

  void CheckInput(const TemplateUse& use, const Expression::Path& path) {
    if (path.size() < 2 || inputs_.contains(path[1])) return;
    std::vector<std::string_view> known(inputs_.begin(), inputs_.end());
    Add(use, path,
        "the plan declares no input '" + path[1] + "'" + DidYouMean(path[1], known) +
            "; declare it under 'inputs'");
  }

  void CheckSecret(const TemplateUse& use, const Expression::Path& path) {
    const PlanStep& step = plan_.steps[use.step];
    const bool undo = use.role == TemplateRole::kCompensate;
    const auto& secrets = undo ? step.compensate->secrets : step.action.secrets;
    if (path.size() < 2) {
      return Add(use, path, "name one secret: {{ secrets.name }}");
    }
    std::vector<std::string_view> known;
    for (const SecretRef& secret : secrets) known.push_back(secret.name);
    if (std::find(known.begin(), known.end(), path[1]) == known.end()) {
      return Add(use, path,
                 "the step has no secret '" + path[1] + "'" + DidYouMean(path[1], known) +
                     "; add it to 'secretRefs'");
    }
    // The engine renders a placeholder instead of the secret, so expressions cannot use its value.
    const auto found = FindSecretInExpression(*use.node);
    if (!found || !reported_.insert(found->node).second) return;
    AddAt(use, found,
          "expressions cannot use a secret's value; write {{ secrets." + path[1] + " }} alone");
  }

  void CheckStep(const TemplateUse& use, const Expression::Path& path) {
    if (path.size() < 2) return;
    const StepIndex named = plan_.Find(path[1]);
    if (named == kNoStep) return Add(use, path, UnknownStep(path[1]));
    if (use.step == kNoStep) return;
    if (named == use.step) {
      if (ScopeOf(use.role).own_step) return;
      return Add(use, path,
                 use.role == TemplateRole::kOutputs
                     ? "the step's own result is called 'result' here"
                     : "a step cannot use its own result");
    }
    questions_.push_back({use.step, named});
    step_uses_.push_back({&use, &path});
  }

  std::string UnknownStep(const std::string& id) const {
    if (faults_.full()) return "";
    std::vector<std::string_view> known;
    for (const PlanStep& step : plan_.steps) {
      known.push_back(step.step_id);
      if (step.step_id.size() > id.size() && step.step_id.starts_with(id) &&
          (step.step_id[id.size()] == '-' || step.step_id[id.size()] == '.')) {
        return "there is no step '" + id + "'; for '" + step.step_id + "' write steps['" +
               step.step_id + "']";
      }
      if (known.size() == kSuggestionsMax) break;
    }
    return "there is no step '" + id + "'" + DidYouMean(id, known);
  }

  void CheckOrder() {
    AnswerAncestors(plan_, questions_);
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      if (questions_[i].answer) continue;
      const StepUse& at = step_uses_[i];
      if (faults_.full()) {
        faults_.Add(Fault{});
        continue;
      }
      Add(*at.use, *at.path, NotBefore(questions_[i]));
    }
  }

  std::string NotBefore(const AncestorQuestion& question) const {
    const PlanStep& named = plan_.steps[question.before];
    const std::string id = "'" + named.step_id + "'";
    if (named.fallback_of != kNoStep) {
      return id + " is a fallback; use '" + plan_.steps[named.fallback_of].step_id +
             "', which takes over the fallback's result when it fails";
    }
    const std::string start = id + " is not guaranteed to end before this step; ";
    if (draft_.sequential) return start + "move it up";
    const PlanStep& step = plan_.steps[question.step];
    if (step.fallback_of != kNoStep) {
      return start + "add it to the dependsOn of '" + plan_.steps[step.fallback_of].step_id + "'";
    }
    return start + "add it to dependsOn";
  }

  static constexpr std::size_t kSuggestionsMax = 5'000;

  const PlanDraft& draft_;
  const Plan& plan_;
  PlanFaults& faults_;
  std::unordered_set<std::string_view> inputs_;
  std::unordered_set<const Node*> reported_;
  std::vector<AncestorQuestion> questions_;
  std::vector<StepUse> step_uses_;
};

}  // namespace

void CheckNames(const PlanDraft& draft, PlanFaults& faults) { NameCheck(draft, faults).Check(); }

}  // namespace everstep
