#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/expression_meter.h"
#include "flow/map_reader.h"
#include "flow/plan.h"
#include "flow/plan_faults.h"

namespace everstep {

// The place of a template in a plan, which determines the names that its expressions may use.
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

// A template with expressions, recorded so that its names can be checked once all steps are known.
struct TemplateUse {
  Template compiled;
  const Node* node = nullptr;
  std::string pointer;
  StepIndex step = kNoStep;  // kNoStep: belongs to the plan itself
  TemplateRole role = TemplateRole::kInputs;
};

// The nodes of a step that the checks need in addition to the step itself.
struct StepDraft {
  const Node* node = nullptr;
  const Node* depends_on = nullptr;  // a list; null if the step has none
  const Node* fallback = nullptr;    // text; null if the step has none
};

// A plan that is being read.
struct PlanDraft {
  Place place;
  std::shared_ptr<Plan> plan = std::make_shared<Plan>();
  const Node* steps_node = nullptr;  // null if missing or not a list
  std::vector<StepDraft> steps;      // parallel to plan->steps
  std::vector<TemplateUse> uses;
  bool sequential = true;  // no step has dependsOn
};

// The context that all parts of the reader share.
struct PlanReading {
  const PlanAudience& audience;
  PlanFaults& faults;
  ExpressionMeter& input_meter;  // for patterns and defaults of inputs
};

// Reads the node at `place` as a plan, checks and compiles it. The plan must not be used if there
// were faults. The caller sets its document and hash.
std::shared_ptr<Plan> ReadPlanAt(const Place& place, const PlanReading& reading);

// The parts of ReadPlanAt.
void ReadPlanInputs(PlanDraft& draft, const Place& place, const PlanReading& reading);
void ReadSteps(PlanDraft& draft, const Place& place, const PlanReading& reading);
void CheckCapabilities(const PlanDraft& draft, const MapReader& metadata,
                       const PlanReading& reading);
void CheckTool(const Place& kind, const PlanReading& reading);
// Fills in depends_on, dependants, fallback and by_id. Returns false if the dependencies do not
// form an order.
bool LinkSteps(PlanDraft& draft, PlanFaults& faults);
// Requires: LinkSteps has returned true.
void CheckNames(const PlanDraft& draft, PlanFaults& faults);

// Compiles the templates of one step, or of the plan itself.
class TemplateReader {
 public:
  TemplateReader(PlanDraft& draft, StepIndex step, PlanFaults& faults)
      : draft_(draft), step_(step), faults_(faults) {}

  // Compiles the value at `place`.
  Template Read(const Place& place, TemplateRole role);
  // Compiles text that is a single expression.
  Template ReadCondition(const Place& place, TemplateRole role);
  // Compiles the member `key` into `field`, if it exists.
  void ReadMember(const MapReader& map, std::string_view key, TemplateRole role, Template& field);
  // Like ReadMember, for a member that must be a map.
  void ReadMap(const MapReader& map, std::string_view key, TemplateRole role, Template& field);

 private:
  Template Keep(Result<Template> compiled, const std::vector<Template::Fault>& template_faults,
                const Place& place, TemplateRole role);

  PlanDraft& draft_;
  StepIndex step_;
  PlanFaults& faults_;
};

// The names that expressions can begin with. A loop cannot use them for its item or index.
inline constexpr std::string_view kExpressionRoots[] = {"inputs",  "params", "steps",
                                                        "secrets", "run",    "result"};

// Whether `text` consists of letters, digits and '_' and does not begin with a digit, so that an
// expression can use it without quotes.
bool IsSimpleName(std::string_view text);

}  // namespace everstep
