#include "run_list.h"

#include <string>

#include "base/json.h"
#include "base/timestamp.h"
#include "snapshot_text.h"
#include "table.h"
#include "tenant_counts_text.h"

namespace everstep::cli {
namespace {

RunFilter FilterOf(const Arguments& arguments) {
  RunFilter filter;
  filter.tenant_id = arguments.Text("tenant");
  filter.project_id = arguments.Text("project");
  filter.environment_id = arguments.Text("environment");
  filter.status = arguments.Text("status");
  filter.plan_id = arguments.Text("plan");
  filter.plan_version = arguments.Text("plan-version");
  filter.run_id_prefix = arguments.Text("prefix");
  filter.error_code = arguments.Text("error");
  if (arguments.Has("since")) filter.created_from = arguments.Moment("since");
  if (arguments.Has("until")) filter.created_until = arguments.Moment("until");
  if (arguments.Has("updated-since")) filter.updated_from = arguments.Moment("updated-since");
  if (arguments.Has("updated-until")) filter.updated_until = arguments.Moment("updated-until");
  filter.limit = arguments.Number("limit");
  filter.cursor = arguments.Text("cursor");
  return filter;
}

std::string JsonOf(const RunList& list, const LogHealth& counts) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("runs");
  json.BeginArray();
  for (const RunSummary& run : list.runs) {
    json.BeginObject();
    json.Member("runId", run.run_id);
    json.Member("status", run.status);
    if (!run.substatus.empty()) json.Member("substatus", run.substatus);
    json.Member("projectId", run.project_id);
    json.Member("environmentId", run.environment_id);
    json.Member("planId", run.plan_id);
    json.Member("planVersion", run.plan_version);
    if (!run.error_code.empty()) json.Member("errorCode", run.error_code);
    json.Member("lastEventSeq", run.last_event_seq);
    json.Member("createdAt", FormatTimestamp(run.created_at));
    json.Member("updatedAt", FormatTimestamp(run.updated_at));
    if (!run.quarantine.empty()) json.Member("quarantine", run.quarantine);
    json.EndObject();
  }
  json.EndArray();
  if (!list.cursor.empty()) json.Member("cursor", list.cursor);
  WriteCounts(counts, json);
  json.EndObject();
  return text;
}

std::string TableOf(const RunList& list, const LogHealth& counts, const Look& look) {
  Table table({"RUN", "STATUS", "PLAN", "PROJECT", "ENVIRONMENT", "EVENTS", "CREATED", "UPDATED"});
  for (const RunSummary& run : list.runs) {
    const bool quarantined = !run.quarantine.empty();
    const Cell status = quarantined ? Cell("QUARANTINED", Colour::kRed)
                                    : Cell(run.status, ColourOfStatus(run.status));
    table.Add({run.run_id, status, run.plan_id + " " + run.plan_version, run.project_id,
               run.environment_id, std::to_string(run.last_event_seq), TimeText(run.created_at),
               TimeText(run.updated_at)});
  }
  std::string text = table.TakeText(look);
  text += look.Paint(Colour::kDim, "tenant total: " + CountsText(counts)) + "\n";
  if (!list.cursor.empty()) {
    text += look.Paint(Colour::kDim, "more with --cursor " + list.cursor) + "\n";
  }
  return text;
}

}  // namespace

ExitCode WriteRunList(const Arguments& arguments, Log& log, Output& out) {
  const auto list = log.Runs(FilterOf(arguments));
  if (!list) return Fail(list.error(), out);
  const LogHealth counts = log.Health(arguments.Text("tenant"));
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    out.Write(TableOf(*list, counts, out.look()));
  } else {
    WriteDocument(form, JsonOf(*list, counts), out);
  }
  return ExitCode::kOk;
}

}  // namespace everstep::cli
