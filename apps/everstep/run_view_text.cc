#include "run_view_text.h"

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/timestamp.h"
#include "run_drawing.h"
#include "snapshot_text.h"
#include "table.h"

namespace everstep::cli {
namespace {

// Writes members, leaving out what is empty, zero or not set.
class Members {
 public:
  explicit Members(std::string& text) : json_(text) { json_.BeginObject(); }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  void Text(std::string_view name, std::string_view value) {
    if (!value.empty()) json_.Member(name, value);
  }
  void Number(std::string_view name, std::uint64_t value) {
    if (value != 0) json_.Member(name, value);
  }
  void Time(std::string_view name, const std::optional<SystemTime>& value) {
    if (value) json_.Member(name, FormatTimestamp(*value));
  }
  void Raw(std::string_view name, std::string_view value) {
    if (!value.empty()) json_.RawMember(name, value);
  }
  void List(std::string_view name, const std::vector<std::string>& values) {
    json_.Key(name);
    json_.BeginArray();
    for (const std::string& value : values) json_.Raw(value);
    json_.EndArray();
  }
  void End() { json_.EndObject(); }

 private:
  JsonWriter json_;
};

std::string StepJson(const StepView& step) {
  std::string text;
  Members members(text);
  members.Text("stepId", step.step_id);
  members.Text("name", step.name);
  members.Text("kind", step.kind);
  members.Text("status", step.status);
  members.Number("logicalAttempt", step.logical_attempt);
  members.Number("attemptsMax", step.attempts_max);
  members.Number("engineAttempt", step.engine_attempt);
  members.Time("startedAt", step.started_at);
  members.Time("completedAt", step.completed_at);
  members.Time("wakesAt", step.wakes_at);
  members.Text("errorCode", step.error_code);
  members.Text("errorMessage", step.error_message);
  members.Text("skipCode", step.skip_code);
  members.Text("hookToken", step.hook_token);
  members.Number("itemsTotal", step.items_total);
  members.Number("itemsDone", step.items_done);
  members.Number("itemsFailed", step.items_failed);
  members.Number("itemsRunning", step.items_running);
  members.Text("childRunId", step.child_run_id);
  std::vector<std::string> before;
  for (const std::string& id : step.depends_on) before.push_back(JsonQuote(id));
  members.List("dependsOn", before);
  members.End();
  return text;
}

std::string BlockerJson(const Blocker& blocker) {
  std::string text;
  Members members(text);
  members.Text("kind", blocker.kind);
  members.Text("subject", blocker.subject);
  members.Text("message", blocker.message);
  members.Number("causeSeq", blocker.cause_seq);
  members.Time("wakesAt", blocker.wakes_at);
  members.Text("remedy", blocker.remedy);
  members.End();
  return text;
}

std::string TimeOr(const std::optional<SystemTime>& time, const char* otherwise) {
  return time ? TimeText(*time) : std::string(otherwise);
}

}  // namespace

std::string RunViewText(const RunView& view, SystemTime now, const std::string& deliver_command,
                        const Look& look) {
  Facts facts;
  facts.Add("run", Cell(view.run_id, Colour::kBold));
  const std::string substatus = view.substatus.empty() ? "" : " (" + view.substatus + ")";
  facts.Add("status", Cell(view.status + substatus, ColourOfStatus(view.status)));
  if (view.queue_position > 0) facts.Add("queue", std::to_string(view.queue_position));
  facts.Add("plan", view.plan_id + " " + view.plan_version);
  facts.Add("started", TimeOr(view.started_at, "-"));
  if (view.completed_at) {
    std::string text = TimeText(*view.completed_at);
    if (view.started_at) text += " after " + DurationText(*view.completed_at - *view.started_at);
    facts.Add("ended", text);
  }
  facts.Add("events", std::to_string(view.last_event_seq));
  if (!view.inputs.empty() && view.inputs != "{}") facts.Add("inputs", view.inputs);
  if (!view.error_code.empty() || !view.error_message.empty()) {
    facts.Add("error", Cell(view.error_code + ": " + view.error_message, Colour::kRed));
  }
  if (!view.result.empty() && view.result != "null") facts.Add("result", view.result);
  std::string text = facts.Format(look);
  if (view.steps.empty()) return text;
  RunDrawing drawing(deliver_command);
  const auto lines = drawing.Lines(view, now, SIZE_MAX, look);
  for (std::size_t i = 1; i < lines.size(); ++i) text += (i == 1 ? "\n" : "") + lines[i] + "\n";
  return text;
}

std::string RunViewJson(const RunView& view) {
  std::string text;
  Members members(text);
  members.Text("runId", view.run_id);
  members.Text("planId", view.plan_id);
  members.Text("planVersion", view.plan_version);
  members.Text("status", view.status);
  members.Text("substatus", view.substatus);
  members.Number("lastEventSeq", view.last_event_seq);
  members.Number("queuePosition", view.queue_position);
  members.Time("startedAt", view.started_at);
  members.Time("completedAt", view.completed_at);
  members.Raw("inputs", view.inputs);
  members.Raw("result", view.result);
  members.Text("errorCode", view.error_code);
  members.Text("errorMessage", view.error_message);
  std::vector<std::string> steps;
  for (const StepView& step : view.steps) steps.push_back(StepJson(step));
  members.List("steps", steps);
  members.End();
  return text;
}

std::string ExplanationJson(const Explanation& explanation) {
  std::string text;
  Members members(text);
  members.Text("runId", explanation.run_id);
  members.Text("status", explanation.status);
  members.Text("substatus", explanation.substatus);
  members.Text("summary", explanation.summary);
  std::vector<std::string> blockers;
  for (const Blocker& blocker : explanation.blockers) blockers.push_back(BlockerJson(blocker));
  members.List("blockers", blockers);
  members.End();
  return text;
}

}  // namespace everstep::cli
