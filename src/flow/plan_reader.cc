#include <array>

#include "base/timestamp.h"
#include "flow/action_reader.h"
#include "flow/input_check.h"
#include "flow/operations_done.h"
#include "flow/plan_draft.h"

namespace everstep {
namespace {

constexpr std::string_view kPlanFields[] = {
    "metadata",       "inputs", "steps",       "outputs",       "timeout", "priority",
    "concurrencyKey", "planId", "planVersion", "schemaVersion", "triggers"};
constexpr std::string_view kMetadataFields[] = {"planId",
                                                "planVersion",
                                                "schemaVersion",
                                                "name",
                                                "description",
                                                "author",
                                                "createdAt",
                                                "createdBy",
                                                "tags",
                                                "labels",
                                                "requiresCapabilities",
                                                "fallbackBehavior",
                                                "targetAdapter",
                                                "requiresApproval"};
constexpr std::string_view kFallbackBehaviors[] = {"reject", "emulate", "degrade"};

constexpr std::array<std::string_view, 4> kSchemaVersions = {"v1.0", "v1.1", "v1.2", "v1.3"};

void CheckSchemaVersion(const Place& place, Plan& plan, PlanFaults& faults) {
  if (!place.node->is_text()) return FaultKind(place, "text", faults);
  plan.schema_version = place.node->text();
  for (const std::string_view known : kSchemaVersions) {
    if (plan.schema_version == known) return;
  }
  faults.Add(place,
             "schemaVersion '" + plan.schema_version + "' is not supported; this build reads " +
                 std::string(kSchemaVersions.front()) + " to " +
                 std::string(kSchemaVersions.back()),
             ErrorCode::kPlanSchemaVersionUnknown);
}

// Reads planId, planVersion and schemaVersion from `metadata`, or from the top level as in older
// plans.
class IdentityReader {
 public:
  IdentityReader(const MapReader& top, const MapReader* metadata)
      : top_(top), metadata_(metadata) {}

  void Read(Plan& plan) {
    ReadName("planId", "the identifier of the plan", plan.plan_id);
    ReadName("planVersion", "the version of the plan, such as \"1.0\"", plan.plan_version);
    plan.schema_version = kSchemaVersions.back();
    const MapReader* holder = Holder("schemaVersion");
    if (holder != nullptr) {
      CheckSchemaVersion(*holder->Find("schemaVersion"), plan, top_.faults());
    }
  }

 private:
  const MapReader* Holder(std::string_view key) {
    const bool inside = metadata_ != nullptr && metadata_->Has(key);
    if (inside && top_.Has(key)) {
      top_.faults().AddAtKey(*top_.Find(key),
                             "'" + std::string(key) + "' is in 'metadata' too; remove one of them");
    }
    if (inside) return metadata_;
    return top_.Has(key) ? &top_ : nullptr;
  }

  void ReadName(std::string_view key, std::string_view why, std::string& field) {
    if (const MapReader* holder = Holder(key)) {
      holder->Name(key, field);
    } else if (metadata_ != nullptr) {
      (void)metadata_->Require(key, why);
    } else {
      (void)top_.Require(key, why);
    }
  }

  const MapReader& top_;
  const MapReader* metadata_;
};

// Checks fields that help authors; the engine does not use them.
void CheckNotes(const MapReader& metadata) {
  std::string ignored;
  for (const std::string_view key : {"name", "author", "createdBy"}) metadata.Text(key, ignored);
  if (metadata.Text("createdAt", ignored) && !ParseTimestamp(ignored)) {
    metadata.faults().Add(*metadata.Find("createdAt"),
                          "'createdAt' must be a time such as \"2026-01-31T08:00:00Z\"");
  }
  std::vector<std::string> tags;
  metadata.Texts("tags", tags);
  const auto labels = metadata.Find("labels");
  if (!labels) return;
  if (!labels->node->is_map()) return FaultKind(*labels, "a map of text values", metadata.faults());
  for (const Node& label : labels->node->children()) {
    if (!label.is_text()) FaultKind(labels->Member(label), "text", metadata.faults());
  }
}

void ReadMetadata(PlanDraft& draft, const MapReader& metadata, const PlanReading& reading) {
  Plan& plan = *draft.plan;
  metadata.Text("description", plan.description);
  metadata.Texts("requiresCapabilities", plan.requires_capabilities);
  std::size_t behavior = 0;
  metadata.Word("fallbackBehavior", kFallbackBehaviors, behavior);
  plan.fallback_behavior = kFallbackBehaviors[behavior];
  metadata.Text("targetAdapter", plan.target_adapter);
  metadata.Flag("requiresApproval", plan.requires_approval);
  CheckNotes(metadata);
  CheckCapabilities(draft, metadata, reading);
}

void ReadTop(PlanDraft& draft, const MapReader& top, const PlanReading& reading) {
  Plan& plan = *draft.plan;
  top.Duration("timeout", plan.timeout);
  std::int64_t priority = 0;
  top.Integer("priority", kPriorityMin, kPriorityMax, priority);
  plan.priority = static_cast<std::int32_t>(priority);
  TemplateReader templates(draft, kNoStep, reading.faults);
  if (const auto key = top.Find("concurrencyKey")) {
    if (key->node->is_text() && !key->node->text().empty()) {
      plan.concurrency_key = templates.Read(*key, TemplateRole::kPlanKey);
    } else {
      FaultKind(*key, "text that is not empty", reading.faults);
    }
  }
  templates.ReadMember(top, "outputs", TemplateRole::kPlanOutputs, plan.outputs);
  if (const auto inputs = top.Find("inputs")) ReadPlanInputs(draft, *inputs, reading);
  if (const auto triggers = top.Find("triggers")) {
    reading.faults.Warn(*triggers, "FIELD_IGNORED",
                        "'triggers' has no effect; runs must be started explicitly");
  }
  if (const auto steps = top.Require("steps", "the list of the plan's steps")) {
    ReadSteps(draft, *steps, reading);
  }
}

}  // namespace

std::shared_ptr<Plan> ReadPlanAt(const Place& place, const PlanReading& reading) {
  PlanDraft draft;
  draft.place = place;
  const MapReader top(place, kPlanFields, reading.faults);
  if (!place.node->is_map()) return draft.plan;
  const auto metadata_place = top.Find("metadata");
  if (metadata_place) {
    const MapReader metadata(*metadata_place, kMetadataFields, reading.faults);
    IdentityReader(top, &metadata).Read(*draft.plan);
    ReadMetadata(draft, metadata, reading);
  } else {
    IdentityReader(top, nullptr).Read(*draft.plan);
  }
  ReadTop(draft, top, reading);
  if (draft.steps_node == nullptr) return draft.plan;
  // CheckNames needs the order of the steps.
  if (LinkSteps(draft, reading.faults)) CheckNames(draft, reading.faults);
  return draft.plan;
}

StepIndex Plan::Find(std::string_view step_id) const {
  const auto found = by_id.find(step_id);
  return found == by_id.end() ? kNoStep : found->second;
}

Result<std::shared_ptr<const Plan>> ReadPlan(std::string_view document,
                                             const PlanAudience& audience,
                                             std::vector<PlanWarning>* warnings) {
  auto parsed = ParseDocument(document, kPlanBytesMax);
  if (!parsed) return std::move(parsed).error();
  PlanFaults faults(document, warnings);
  for (Fault& fault : parsed->faults) faults.Add(std::move(fault));
  const Place root{nullptr, &parsed->root, Place::kNotInList};
  ExpressionMeter input_meter({.operations_max = kInputCheckOperationsMax});
  const std::shared_ptr<Plan> plan = ReadPlanAt(root, PlanReading{audience, faults, input_meter});
  AddOperations(kInputCheckOperationsMax - input_meter.operations_left());
  if (!faults.empty()) return std::move(faults).ToError();
  plan->document = document;
  plan->sha256 = Sha256(document);
  return std::shared_ptr<const Plan>(plan);
}

}  // namespace everstep
