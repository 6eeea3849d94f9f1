#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/json.h"
#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kStoreOption, kOutputOption};

// The file with the intact events after gaps, one JSON document per line. It is created for the
// first event and never replaces an existing file.
class GapFile {
 public:
  explicit GapFile(std::string path) : path_(std::move(path)) {}

  void Add(const LogEvent& event) {
    if (failed_) return;
    if (!file_) file_.reset(std::fopen(path_.c_str(), "wx"));
    failed_ =
        !file_ ||
        std::fwrite(event.json.data(), 1, event.json.size(), file_.get()) != event.json.size() ||
        std::fputc('\n', file_.get()) == EOF;
  }
  bool Close() {
    if (file_ && std::fclose(file_.release()) != 0) failed_ = true;
    return !failed_;
  }
  const std::string& path() const { return path_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  bool failed_ = false;
};

std::string MissingText(const SalvagedLog::Run& run) {
  if (run.row_lost) return "the run's own row is lost";
  std::string text;
  for (const auto& [from, to] : run.missing) {
    if (!text.empty()) text += ", ";
    text += std::to_string(from);
    if (to != from) text += "-" + std::to_string(to);
  }
  return text;
}

std::string JsonOf(const SalvagedLog& log, const std::string& gap_file) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("runs", log.runs);
  json.Member("events", log.events);
  json.Key("damage");
  json.BeginArray();
  for (const std::string& damage : log.damage) json.String(damage);
  json.EndArray();
  json.Member("rowsLost", log.rows_lost);
  json.Key("incomplete");
  json.BeginArray();
  for (const SalvagedLog::Run& run : log.incomplete) {
    json.BeginObject();
    json.Member("runId", run.run_id);
    if (!run.tenant_id.empty()) json.Member("tenantId", run.tenant_id);
    json.Member("eventsKept", run.events_kept);
    json.Member("missing", MissingText(run));
    json.EndObject();
  }
  json.EndArray();
  json.Member("eventsAfterGaps", log.events_after_gaps);
  if (log.events_after_gaps > 0) json.Member("eventsAfterGapsFile", gap_file);
  json.EndObject();
  return text;
}

std::string TextOf(const SalvagedLog& log, const std::string& gap_file, const Look& look) {
  std::string text;
  for (const std::string& damage : log.damage) text += "damage: " + Printable(damage) + "\n";
  if (!log.incomplete.empty()) {
    Table table({"RUN", "TENANT", "KEPT", "MISSING"});
    for (const SalvagedLog::Run& run : log.incomplete) {
      table.Add({run.run_id, run.tenant_id.empty() ? "-" : run.tenant_id,
                 CountText(run.events_kept, "event", "events"), MissingText(run)});
    }
    text += table.TakeText(look);
  }
  if (log.events_after_gaps > 0) {
    text += CountText(log.events_after_gaps, "intact event lies", "intact events lie") +
            " after a gap: " + Printable(gap_file) + "\n";
  }
  text += "copied " + CountText(log.runs, "run", "runs") + ", " +
          CountText(log.events, "event", "events");
  if (!log.incomplete.empty()) {
    text += "; " + CountText(log.incomplete.size(), "run is", "runs are") +
            " incomplete and quarantined or left out";
  }
  if (log.rows_lost) return text + "; rows could not be read: whole runs may be missing, too\n";
  if (!log.incomplete.empty()) return text + "\n";
  return text + (log.damage.empty() ? "; nothing is missing\n"
                                    : "; all tables and log files could be read\n");
}

ExitCode Run(const Arguments& arguments, Output& out) {
  std::string directory = arguments.operands().front();
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  GapFile gaps(directory + ".after-gaps.jsonl");
  if (std::error_code ignored; std::filesystem::exists(gaps.path(), ignored)) {
    return Fail(Error{ErrorCode::kStoreExists,
                      gaps.path() + " exists, from an earlier salvage; choose another NEW",
                      {}});
  }
  const auto log = SalvageLog(StoreDirectory(arguments), directory,
                              [&](const std::string&, const LogEvent& event) { gaps.Add(event); });
  if (!log) return Fail(log.error());
  if (!gaps.Close()) {
    return Fail(Error{ErrorCode::kStoreIo,
                      gaps.path() + ": cannot be written; the events after gaps are not in it. " +
                          directory + " is complete; to get those events, salvage into another NEW",
                      {}});
  }
  if (const OutputForm form = FormOf(arguments); form == OutputForm::kTable) {
    out.Write(TextOf(*log, gaps.path(), out.look()));
  } else {
    WriteDocument(form, JsonOf(*log, gaps.path()), out);
  }
  return log->incomplete.empty() && log->damage.empty() ? ExitCode::kOk : ExitCode::kFaults;
}

}  // namespace

const Command kLogSalvage{
    "log salvage",
    "NEW",
    1,
    1,
    "Copy what is intact in a damaged store to a new one, and list what is missing.",
    "The damaged store is not changed; no process may have it open. NEW must not exist. The log\n"
    "of a run is kept up to its first gap and the run is quarantined; intact events after a gap\n"
    "go to the file NEW.after-gaps.jsonl. Exits with 7 if something was damaged or is missing.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
