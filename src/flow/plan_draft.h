#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/map_reader.h"
#include "flow/plan.h"
#include "flow/plan_faults.h"

namespace everstep {

// Where in a plan a template stands: decides what its expressions may speak of.
enum class TemplateRole : std::uint8_t {
  kInputs,
  kOutputs,
  kWhen,
  kForeach,
  kWait,
  kKey,  // concurrencyKey, idempotencyKey
  kCompensate,
  kCompensateKey,
  kPlanOutputs,
  kPlanKey,
};

// A template with expressions, kept until all steps are known.
struct TemplateUse {
  Template compiled;
  const Node* node = nullptr;
  std::string pointer;
  StepIndex step = kNoStep;  // none: of the plan
  TemplateRole role = TemplateRole::kInputs;
};

// What the checks need of a step besides the step itself.
struct StepDraft {
  const Node* node = nullptr;
  const Node* depends_on = nullptr;  // a list; null: not written
  const Node* fallback = nullptr;    // a text; null: none
};

// A plan while it is read.
struct PlanDraft {
  Place place;
  std::shared_ptr<Plan> plan = std::make_shared<Plan>();
  const Node* steps_node = nullptr;  // null: missing or no list
  std::vector<StepDraft> steps;      // as plan->steps
  std::vector<TemplateUse> uses;
  bool sequential = true;  // no step says what it depends on
};

// What every part of the reader is given.
struct PlanReading {
  const PlanAudience& audience;
  PlanFaults& faults;
};

// The plan that the node at `place` is, checked and compiled; not usable when there were faults.
// Document and hash are left to the caller.
std::shared_ptr<Plan> ReadPlanAt(const Place& place, const PlanReading& reading);

// Parts, each in the file of its name.
void ReadPlanInputs(PlanDraft& draft, const Place& place, const PlanReading& reading);
void ReadSteps(PlanDraft& draft, const Place& place, const PlanReading& reading);
void CheckCapabilities(const PlanDraft& draft, const MapReader& metadata,
                       const PlanReading& reading);
void CheckTool(const Place& kind, const PlanReading& reading);
// Fills in depends_on, dependants, fallback and by_id. False: the dependencies make no order.
bool LinkSteps(PlanDraft& draft, PlanFaults& faults);
// Wants linked steps.
void CheckNames(const PlanDraft& draft, PlanFaults& faults);

// The templates of one step, or of the plan itself.
class TemplateReader {
 public:
  TemplateReader(PlanDraft& draft, StepIndex step, PlanFaults& faults)
      : draft_(draft), step_(step), faults_(faults) {}

  // Compiles the value there.
  Template Read(const Place& place, TemplateRole role);
  // A text that is an expression as a whole.
  Template ReadCondition(const Place& place, TemplateRole role);
  // Of the member `key`, if it is there.
  void ReadMember(const MapReader& map, std::string_view key, TemplateRole role, Template& field);
  // The same, of a member that must be a map.
  void ReadMap(const MapReader& map, std::string_view key, TemplateRole role, Template& field);

 private:
  Template Keep(Result<Template> compiled, const std::vector<Template::Fault>& template_faults,
                const Place& place, TemplateRole role);

  PlanDraft& draft_;
  StepIndex step_;
  PlanFaults& faults_;
};

// The names that expressions can begin with; a loop may not take them for its item.
inline constexpr std::string_view kExpressionRoots[] = {"inputs",  "params", "steps",
                                                        "secrets", "run",    "result"};

// Letters, digits and '_', not a digit first: what can be written in an expression as it is.
bool IsSimpleName(std::string_view text);

}  // namespace everstep
