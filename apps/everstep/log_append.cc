#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/timestamp.h"
#include "commands.h"
#include "everstep/log.h"
#include "interrupt.h"
#include "line_reader.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kLineBytesMax = 1 << 20;
constexpr std::uint64_t kBatchMax = 10'000;

constexpr std::string_view kWritable[] = {"native", "contract", "devkit", "noetl", "elephant"};
constexpr OptionSpec kOptions[] = {
    kStoreOption,
    {"dialect", OptionKind::kWord, "NAME", "native, contract, devkit, noetl or elephant", "native",
     kWritable},
    {"tenant", OptionKind::kText, "ID", "the tenant of new runs if their first event has none",
     "default"},
    {"project", OptionKind::kText, "ID", "the project of such runs", "default"},
    {"environment", OptionKind::kText, "ID", "the environment of such runs", "default"},
    {"plan", OptionKind::kText, "NAME", "the plan of such runs", "default"},
    {"plan-version", OptionKind::kText, "NAME", "the plan version of such runs", "1"},
    {"batch", OptionKind::kCount, "N", "at most this many events in one write", "128"},
    {"fail-fast", OptionKind::kSwitch, "", "stop after the batch with the first error"},
    {"summary", OptionKind::kSwitch, "", "print a summary on standard error at the end"},
    kLockTimeoutOption,
    kMinFreeOption,
};

struct Tally {
  std::uint64_t appended = 0;
  std::uint64_t repeated = 0;
  std::uint64_t mismatched = 0;
  std::uint64_t refused = 0;
  std::uint64_t invalid = 0;
  std::uint64_t failed = 0;
};

std::string AnswerOf(std::string_view file, const InputLine& line, const Result<Appended>& result) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  if (!file.empty()) json.Member("file", file);
  json.Member("line", line.number);
  if (result) {
    json.Member("runId", result->run_id);
    json.Member("runSeq", result->run_seq);
    json.Member("eventId", result->event_id);
    json.Member("persistedAt", FormatTimestamp(result->persisted_at));
    json.Member("idempotent", result->idempotent);
    if (result->payload_mismatch) json.Member("payloadMismatch", true);
  } else {
    json.Key("error");
    json.BeginObject();
    json.Member("code", Name(result.error().code));
    json.Member("message", result.error().message);
    json.Key("faults");
    json.BeginArray();
    for (const Fault& fault : result.error().faults) {
      json.BeginObject();
      json.Member("pointer", fault.pointer);
      json.Member("message", fault.message);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndObject();
  text.push_back('\n');
  return text;
}

// Appends lines and answers each, until it is stopped.
class Appender {
 public:
  Appender(const Arguments& arguments, Log& log, Output& out)
      : log_(log),
        out_(out),
        dialect_(*DialectNamed(arguments.Text("dialect"))),
        defaults_{arguments.Text("tenant"), arguments.Text("project"),
                  arguments.Text("environment"), arguments.Text("plan"),
                  arguments.Text("plan-version")},
        batch_(arguments.Number("batch")),
        fail_fast_(arguments.Has("fail-fast")) {}

  // The answers name `file` unless it is empty.
  void AppendFrom(int stream, std::string_view file) {
    LineReader reader(stream, kLineBytesMax);
    while (!stopped_) {
      const std::vector<InputLine> lines = reader.NextBatch(batch_);
      if (lines.empty()) break;
      AppendBatch(file, lines);
    }
    if (reader.error() == 0) return;
    std::fprintf(stderr, "everstep: cannot read the input: %s\n", std::strerror(reader.error()));
    Stop(ExitCode::kBadInput);
  }

  void Stop(ExitCode why) {
    stopped_ = true;
    code_ = Worse(code_, why);
  }
  bool stopped() const { return stopped_; }
  ExitCode code() const { return code_; }
  const Tally& tally() const { return tally_; }

 private:
  void AppendBatch(std::string_view file, const std::vector<InputLine>& lines) {
    std::vector<std::string_view> events;
    for (const InputLine& line : lines) {
      if (!line.too_long) events.push_back(line.text);
    }
    const auto results = log_.AppendAll(dialect_, events, defaults_);
    auto next = results.begin();
    for (const InputLine& line : lines) {
      const Result<Appended> result =
          line.too_long ? Result<Appended>(
                              Error{ErrorCode::kEventTooLarge,
                                    "the line is over " + std::to_string(kLineBytesMax) + " bytes",
                                    {}})
                        : *next++;
      out_.Write(AnswerOf(file, line, result));
      Count(result);
    }
    if (!out_.Flush() || Interrupted()) Stop(ExitCode::kInterrupted);
  }

  void Count(const Result<Appended>& result) {
    if (result) {
      ++(result->idempotent ? tally_.repeated : tally_.appended);
      tally_.mismatched += result->payload_mismatch ? 1 : 0;
      return;
    }
    const ExitCode code = ExitCodeOfAnswer(result.error().code);
    code_ = Worse(code_, code);
    const bool is_events_fault = code == ExitCode::kRefused || code == ExitCode::kBadInput;
    ++(code == ExitCode::kRefused ? tally_.refused
                                  : (is_events_fault ? tally_.invalid : tally_.failed));
    // If the store fails, it would fail for later events too.
    if (fail_fast_ || !is_events_fault) stopped_ = true;
    if (!is_events_fault && !reported_) {
      reported_ = true;
      Fail(result.error());
    }
  }

  Log& log_;
  Output& out_;
  const Dialect dialect_;
  const AppendDefaults defaults_;
  const std::uint64_t batch_;
  const bool fail_fast_;
  Tally tally_;
  ExitCode code_ = ExitCode::kOk;
  bool stopped_ = false;
  bool reported_ = false;
};

void Summarise(const Tally& tally, bool stopped) {
  std::string text = "everstep: " + CountText(tally.appended, "event", "events") + " appended";
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(tally.repeated, "duplicates");
  add(tally.mismatched, "of them with a different payload");
  add(tally.refused, "refused");
  add(tally.invalid, "invalid");
  add(tally.failed, "failed");
  if (stopped) text += "; stopped before the end (appending the same input again is safe)";
  std::fprintf(stderr, "%s\n", text.c_str());
}

void AppendFiles(const std::vector<std::string>& files, Appender& appender) {
  for (const std::string& file : files) {
    if (appender.stopped() || Interrupted()) return;
    const bool is_input = file == "-";
    const int stream = is_input ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (stream < 0) {
      const int error = errno;
      std::fprintf(stderr, "everstep: %s: %s\n", Printable(file).c_str(), std::strerror(error));
      return appender.Stop(error == ENOENT ? ExitCode::kNotFound : ExitCode::kBadInput);
    }
    appender.AppendFrom(stream, files.size() > 1 ? std::string_view(file) : std::string_view());
    if (!is_input) close(stream);
  }
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::uint64_t batch = arguments.Number("batch");
  if (batch == 0 || batch > kBatchMax) {
    return FailUsage(arguments.command(), "--batch takes 1 to " + std::to_string(kBatchMax));
  }
  const auto log = OpenToWrite(arguments, IfMissing::kCreate);
  if (!log) return Interrupted() ? ExitCode::kInterrupted : Fail(log.error());
  Appender appender(arguments, **log, out);
  const std::vector<std::string> standard_input = {"-"};
  AppendFiles(arguments.operands().empty() ? standard_input : arguments.operands(), appender);
  if (Interrupted()) appender.Stop(ExitCode::kInterrupted);
  if (arguments.Has("summary") || ErrorLook().is_terminal) {
    Summarise(appender.tally(), appender.stopped());
  }
  return appender.code();
}

}  // namespace

const Command kLogAppend{
    "log append",
    "[FILE...]",
    0,
    SIZE_MAX,
    "Append events, one JSON document per line, from files or standard input.",
    "Answers each line with one line of JSON, in order, as soon as the event is durable:\n"
    "its position (runId, runSeq, eventId, persistedAt, idempotent), or an error with a\n"
    "code, a message and faults. Continues after refused events; exits with the worst\n"
    "outcome. Appending the same events again changes nothing.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
