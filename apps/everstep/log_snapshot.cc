#include <optional>
#include <string>

#include "base/json.h"
#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "snapshot_text.h"
#include "store_access.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kStoreOption,
    {"at", OptionKind::kCount, "SEQ", "at this runSeq [default: now]"},
    {"hash", OptionKind::kSwitch, "", "print the hashes of the snapshot instead of the state"},
    kOutputOption,
};

std::string HashesJson(const RunSnapshot& snapshot) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("runId", snapshot.run_id);
  json.Member("lastEventSeq", snapshot.last_event_seq);
  json.Member("snapshotHash", SnapshotHash(snapshot));
  json.Member("semanticHash", SemanticHash(snapshot));
  json.EndObject();
  return text;
}

std::string HashesText(const RunSnapshot& snapshot, const Look& look) {
  Facts facts;
  facts.Add("run", snapshot.run_id);
  facts.Add("events", std::to_string(snapshot.last_event_seq));
  facts.Add("snapshot", SnapshotHash(snapshot));
  facts.Add("semantic", SemanticHash(snapshot));
  return facts.Format(look);
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  std::optional<std::uint64_t> at;
  if (arguments.Has("at")) at = arguments.Number("at");
  const auto snapshot = (*log)->Snapshot(arguments.operands().front(), at);
  if (!snapshot) return Fail(snapshot.error());
  const bool hash = arguments.Has("hash");
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    out.Write(hash ? HashesText(*snapshot, out.look()) : SnapshotText(*snapshot, out.look()));
  } else {
    WriteDocument(form, hash ? HashesJson(*snapshot) : ToJson(*snapshot), out);
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kLogSnapshot{
    "log snapshot",
    "RUN",
    1,
    1,
    "Show the state of a run, now or at any earlier event.",
    "The snapshot hash covers status, times and attempts; the semantic hash is equal for\n"
    "runs that reached the same result in different ways.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
