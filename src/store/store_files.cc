#include "store/store_files.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/pause.h"
#include "store/directory_lock.h"
#include "store/file_text.h"
#include "store/log_records.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLogEnding = ".log";
constexpr std::string_view kTableEnding = ".sst";
constexpr std::string_view kManifest = "MANIFEST-";

std::uint64_t NumberIn(std::string_view digits) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
}

std::uint64_t NumberBefore(std::string_view ending, std::string_view name) {
  return name.ends_with(ending) ? NumberIn(name.substr(0, name.size() - ending.size())) : 0;
}

std::string Bytes(std::uint64_t count) { return std::to_string(count); }

std::string Count(std::uint64_t count, std::string_view one) {
  return std::to_string(count).append(" ").append(one).append(count == 1 ? "" : "s");
}

Error Damage(const std::string& directory, const std::string& file, const std::string& what) {
  return {ErrorCode::kStoreCorrupt,
          directory + "/" + file + " " + what + ". Nothing was changed. " + DamageRemedy(directory),
          {}};
}

// One pass over the files. `growing`: an owner is writing. Files may disappear or grow meanwhile,
// and what the owner writes after the mark was read may be incomplete.
class Inspection {
 public:
  Inspection(const std::string& directory, bool growing)
      : directory_(directory), growing_(growing) {}

  Status Run(const HighWater& mark);
  Status CheckManifest(const HighWater& mark);
  HighWater Measured() const { return found_; }

 private:
  Status CheckLogs(const HighWater& mark);
  Status CheckLog(const LogFile& file, const HighWater& mark);
  Status CheckJoint(const LogFile& file, const LogScan& scan, const HighWater& mark);

  const std::string directory_;
  const bool growing_;
  HighWater found_;
  std::uint64_t next_row_ = 0;  // after the log files checked so far; zero: unknown
  std::string last_with_rows_;
};

Status Inspection::Run(const HighWater& mark) {
  const Status manifest = CheckManifest(mark);
  return manifest ? CheckLogs(mark) : manifest;
}

Status Inspection::CheckManifest(const HighWater& mark) {
  const auto current = CurrentManifest(directory_);
  if (!current) return current.error();
  const std::string& name = *current;
  found_.manifest_number = ManifestNumber(name);
  if (found_.manifest_number < mark.manifest_number) {
    return Damage(directory_, "CURRENT",
                  "is out of date: it names " + name + ", but MANIFEST number " +
                      std::to_string(mark.manifest_number) + " was already in use");
  }
  const auto scan = ScanLog(directory_ + "/" + name, LogContent::kEdits);
  if (!scan && scan.error().code != ErrorCode::kStoreNotFound) return scan.error();
  if (!scan) return Damage(directory_, name, "is missing, but CURRENT names it");
  found_.manifest_bytes = scan->whole_to;
  const bool acknowledged =
      found_.manifest_number == mark.manifest_number && scan->whole_to < mark.manifest_bytes;
  if (scan->damaged() && (acknowledged || !growing_)) {
    return Damage(directory_, name,
                  "is damaged at byte " + Bytes(scan->whole_to) + ": " +
                      Count(scan->writes_after, "whole record") + " follow");
  }
  if (acknowledged) {
    return Damage(directory_, name,
                  "is readable only up to byte " + Bytes(scan->whole_to) + ", but " +
                      Bytes(mark.manifest_bytes) + " bytes were synced");
  }
  return Ok();
}

Status Inspection::CheckLogs(const HighWater& mark) {
  const auto files = ListLogs(directory_);
  if (!files) return files.error();
  for (const LogFile& file : *files) {
    if (file.number <= mark.dropped_log) continue;
    const Status checked = CheckLog(file, mark);
    if (!checked) return checked;
  }
  const bool expected = mark.log_number > mark.dropped_log;
  const bool there = std::ranges::find(*files, mark.log_number, &LogFile::number) != files->end();
  if (expected && !there) {
    return Damage(directory_, LogName(mark.log_number),
                  "is missing: it held " + Bytes(mark.log_bytes) + " bytes of acknowledged writes");
  }
  const std::uint64_t end = std::max(next_row_, mark.first_row);
  if (mark.first_log != 0 && end <= mark.last_row) {
    return Damage(directory_, LogName(mark.log_number),
                  "is damaged: the log files end before row " + std::to_string(end) + ", but row " +
                      std::to_string(mark.last_row) + " was acknowledged");
  }
  return Ok();
}

Status Inspection::CheckLog(const LogFile& file, const HighWater& mark) {
  const auto scan = ScanLog(directory_ + "/" + file.name, LogContent::kWrites);
  if (!scan) return scan.error();
  const bool short_of_mark = file.number == mark.log_number && scan->whole_to < mark.log_bytes;
  const bool being_written = growing_ && file.number >= mark.log_number;
  if ((scan->damaged() && !being_written) || short_of_mark) {
    std::string what = scan->file_bytes < mark.log_bytes && !scan->damaged()
                           ? "is cut off at byte " + Bytes(scan->whole_to)
                           : "is damaged at byte " + Bytes(scan->whole_to);
    if (short_of_mark) what += "; " + Bytes(mark.log_bytes) + " bytes were acknowledged";
    what += "; " + Count(scan->events_after, "event") + " in " +
            Count(scan->writes_after, "write") + " follow the damage";
    return Damage(directory_, file.name, what);
  }
  const Status joint = CheckJoint(file, *scan, mark);
  if (!joint) return joint;
  found_.log_number = file.number;
  found_.log_bytes = scan->whole_to;
  return Ok();
}

// A log file continues where the previous one ended, and the mark says where the oldest one begins,
// so that neither a torn end nor a file without a readable write can hide lost rows.
Status Inspection::CheckJoint(const LogFile& file, const LogScan& scan, const HighWater& mark) {
  if (scan.first_row == 0) return Ok();
  const bool is_first = next_row_ == 0 && mark.first_log != 0 && file.number >= mark.first_log;
  if (is_first && scan.first_row != mark.first_row) {
    return Damage(directory_, LogName(mark.first_log),
                  "is damaged or missing: it began with row " + std::to_string(mark.first_row) +
                      ", but the first row that can be read is " + std::to_string(scan.first_row) +
                      " in " + file.name);
  }
  if (next_row_ != 0 && scan.first_row != next_row_) {
    return Damage(directory_, file.name,
                  "begins with row " + std::to_string(scan.first_row) + ", but " + last_with_rows_ +
                      " ends before row " + std::to_string(next_row_) +
                      ": a log file was replaced, cut off or removed");
  }
  next_row_ = scan.next_row;
  last_with_rows_ = file.name;
  if (found_.first_log == 0) {
    found_.first_log = file.number;
    found_.first_row = scan.first_row;
  }
  found_.last_row = scan.next_row - 1;
  return Ok();
}

}  // namespace

Result<std::string> CurrentManifest(const std::string& directory) {
  auto text = ReadFileText(directory + "/CURRENT");
  if (!text && text.error().code != ErrorCode::kStoreNotFound) return text;
  if (!text) return Damage(directory, "CURRENT", "is missing");
  std::string name = text->substr(0, text->find('\n'));
  if (ManifestNumber(name) == 0 || *text != name + "\n") {
    return Damage(directory, "CURRENT", "is damaged: it does not name a MANIFEST");
  }
  return name;
}

std::string LogName(std::uint64_t number) {
  std::string name = std::to_string(number);
  name.insert(0, name.size() < 6 ? 6 - name.size() : 0, '0');
  name.append(kLogEnding);
  EVERSTEP_ASSERT(LogNumber(name) == number);
  return name;
}

std::uint64_t LogNumber(std::string_view name) { return NumberBefore(kLogEnding, name); }

std::uint64_t TableNumber(std::string_view name) { return NumberBefore(kTableEnding, name); }

std::uint64_t ManifestNumber(std::string_view name) {
  return name.starts_with(kManifest) ? NumberIn(name.substr(kManifest.size())) : 0;
}

Result<std::vector<LogFile>> ListLogs(const std::string& directory) {
  std::vector<LogFile> files;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::string name = entry->path().filename();
    if (const std::uint64_t number = LogNumber(name); number != 0) {
      files.push_back({number, std::move(name)});
    }
  }
  if (failed) return Error{ErrorCode::kStoreIo, directory + ": " + failed.message(), {}};
  std::ranges::sort(files, {}, &LogFile::number);
  return files;
}

Status InspectStoreFiles(const std::string& directory, bool has_mark, Looker looker) {
  // What looks like damage may be the work of a running owner: it removes files and continues in
  // others. Real damage is still there at the next look.
  constexpr int kLooks = 5;
  constexpr std::chrono::milliseconds kPause{20};
  Status seen = Ok();
  for (int look = 0; look < kLooks; ++look) {
    const bool growing = looker == Looker::kVisitor && DirectoryLockHeld(directory);
    if (look > 0 && growing) PauseForOthers(kPause);
    if (look > 1 && !growing) break;
    HighWater mark;
    if (has_mark) {
      const auto read = ReadMark(directory);
      if (!read && read.error().code == ErrorCode::kStoreIo) return read.error();
      if (!read) {
        const bool missing = read.error().code == ErrorCode::kStoreNotFound;
        seen = Damage(directory, "MARK", missing ? "is missing" : "is damaged");
        continue;
      }
      mark = *read;
    }
    seen = Inspection(directory, growing).Run(mark);
    if (seen) break;
  }
  return seen;
}

Status InspectManifest(const std::string& directory, const HighWater& mark) {
  return Inspection(directory, false).CheckManifest(mark);
}

Result<HighWater> MeasureStoreFiles(const std::string& directory) {
  Inspection inspection(directory, false);
  const Status seen = inspection.Run({});
  if (!seen) return seen.error();
  return inspection.Measured();
}

std::string DamageRemedy(const std::string& directory) {
  return "Restore a backup, or copy what is intact to a new store: everstep log salvage NEW "
         "--store " +
         directory;
}

}  // namespace everstep
