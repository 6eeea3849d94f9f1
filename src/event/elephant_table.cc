#include "event/elephant_table.h"

#include <algorithm>
#include <array>

#include "event/slot_fill.h"

namespace everstep::elephant {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the rule constructors

constexpr std::size_t kLine = 256;
constexpr std::size_t kStepMax = 200;  // leaves room for the suffix of a hook's id
constexpr std::size_t kIdMax = 120;    // leaves room for the suffixes of a document's other events

constexpr StatusRow kStatusRows[] = {
    {"SCHEDULED", EventType::kStepScheduled},
    {"IN_PROGRESS", EventType::kStepStarted},
    {"SUCCEEDED", EventType::kStepCompleted},
    {kFailed, EventType::kStepFailed},
};
constexpr auto kStatuses = [] {
  std::array<std::string_view, std::size(kStatusRows)> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kStatusRows[i].status;
  return words;
}();

constexpr FieldRule kErrorFields[] = {
    Required(Means(Name("code"), "Two characters for the phase, followed by the kind of error.")),
    Record("details"),
};
constexpr ObjectRule kError{kErrorFields};

constexpr FieldRule kWorkflowFields[] = {
    Required(Means(Identifier("executionId", Slot::kRunId), "The run.")),
    Required(NonEmptyText("county", kLine, Slot::kAttribute)),
    Text("dataGroupLabel", kLine, Slot::kAttribute),
    Required(Word("status", kStatuses)),
    Required(NonEmptyText("phase", kLine, Slot::kAttribute)),
    Required(Name("step", Slot::kEntityId, kStepMax)),
    Means(Token(kTaskToken, Slot::kToken), "Resumes the failed step."),
    Objects("errors", kError),
};
constexpr ObjectRule kWorkflow{kWorkflowFields};

constexpr FieldRule kSettledFields[] = {
    Required(Means(Identifier("executionId", Slot::kRunId),
                   "The run that has the errors; an event concerns exactly one run.")),
    Means(Name("errorCode", Slot::kEntityId), "If omitted: all open codes of the run."),
};
constexpr ObjectRule kSettled{kSettledFields, false};

constexpr std::string_view kSources[] = {kSource};
constexpr std::string_view kNames[] = {"WorkflowEvent", "ElephantErrorResolved",
                                       "ElephantErrorFailedToResolve"};
constexpr std::string_view kMarks[] = {"source", "detail-type", "detail"};

constexpr auto Envelope(std::size_t name, const ObjectRule& detail) {
  return std::array{
      Text("version", kLine, Slot::kAttribute),
      Identifier("id", Slot::kEventId, kIdMax),
      Required(Word("detail-type", std::span(kNames).subspan(name, 1))),
      Required(Word("source", kSources)),
      Text("account", kLine, Slot::kAttribute),
      Time("time", Slot::kEmittedAt),
      Text("region", kLine, Slot::kAttribute),
      Texts("resources", Slot::kAttribute),
      Required(Object("detail", detail)),
  };
}
constexpr auto kWorkflowEnvelope = Envelope(0, kWorkflow);
constexpr auto kResolvedEnvelope = Envelope(1, kSettled);
constexpr auto kFailedToResolveEnvelope = Envelope(2, kSettled);
constexpr ObjectRule kEnvelopes[] = {
    {kWorkflowEnvelope, false},
    {kResolvedEnvelope, false},
    {kFailedToResolveEnvelope, false},
};

}  // namespace

std::span<const Kind> Kinds() {
  static const FieldCheck bare(kWorkflow);
  static const FieldCheck enveloped[] = {FieldCheck(kEnvelopes[0]), FieldCheck(kEnvelopes[1]),
                                         FieldCheck(kEnvelopes[2])};
  static const Kind kinds[] = {
      {kNames[0], "A step of the workflow changed its status.", std::nullopt, &kEnvelopes[0],
       &enveloped[0], &kWorkflow, &bare},
      {kNames[1], "Errors of a run were resolved.", EventType::kErrorResolved, &kEnvelopes[1],
       &enveloped[1], nullptr, nullptr},
      {kNames[2], "An attempt to resolve errors of a run failed permanently.",
       EventType::kErrorUnrecoverable, &kEnvelopes[2], &enveloped[2], nullptr, nullptr},
  };
  return kinds;
}

const Kind* KindNamed(std::string_view detail_type) {
  const auto found = std::ranges::find(Kinds(), detail_type, &Kind::name);
  return found == Kinds().end() ? nullptr : &*found;
}

std::span<const std::string_view> EnvelopeMarks() { return kMarks; }
const ObjectRule& WorkflowRule() { return kWorkflow; }
const ObjectRule& ErrorRule() { return kError; }
std::span<const FieldRule> EnvelopeFields() { return kWorkflowEnvelope; }
std::span<const StatusRow> Statuses() { return kStatusRows; }

std::string MembersBeyond(simdjson::dom::object object, std::span<const FieldRule> taken) {
  std::string left;
  for (const auto [name, value] : object) {
    if (std::ranges::find(taken, name, &FieldRule::name) != taken.end()) continue;
    AddMember(left, name, simdjson::minify(value));
  }
  return left;
}

EventType StepEventOf(std::string_view status) {
  const auto found = std::ranges::find(kStatusRows, status, &StatusRow::status);
  return found == std::end(kStatusRows) ? EventType::kStepFailed : found->type;
}

}  // namespace everstep::elephant
