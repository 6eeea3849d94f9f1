#include "store/store_files.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/pause.h"
#include "store/directory_lock.h"
#include "store/log_records.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLogEnding = ".log";
constexpr std::string_view kManifest = "MANIFEST-";

std::uint64_t NumberIn(std::string_view digits) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
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
  HighWater Measured() const { return found_; }

 private:
  Status CheckManifest(const HighWater& mark);
  Status CheckLogs(const HighWater& mark);
  Status CheckLog(const LogFile& file, const HighWater& mark);
  Status CheckJoint(const LogFile& file, const LogScan& scan);

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
  std::ifstream file(directory_ + "/CURRENT", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open()) return Damage(directory_, "CURRENT", "is missing");
  const std::string name = text.substr(0, text.find('\n'));
  found_.manifest_number = ManifestNumber(name);
  if (found_.manifest_number == 0 || text != name + "\n") {
    return Damage(directory_, "CURRENT", "is damaged: it does not name a MANIFEST");
  }
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
  const Status joint = CheckJoint(file, *scan);
  if (!joint) return joint;
  found_.log_number = file.number;
  found_.log_bytes = scan->whole_to;
  return Ok();
}

// A log file continues where the previous one ended, so a torn end of the previous one cannot hide
// lost rows.
Status Inspection::CheckJoint(const LogFile& file, const LogScan& scan) {
  if (scan.first_row == 0) return Ok();
  if (next_row_ != 0 && scan.first_row != next_row_) {
    return Damage(directory_, file.name,
                  "begins with row " + std::to_string(scan.first_row) + ", but " + last_with_rows_ +
                      " ends before row " + std::to_string(next_row_) +
                      ": a log file was replaced, cut off or removed");
  }
  next_row_ = scan.next_row;
  last_with_rows_ = file.name;
  found_.last_row = scan.next_row - 1;
  return Ok();
}

}  // namespace

std::string LogName(std::uint64_t number) {
  std::string name = std::to_string(number);
  name.insert(0, name.size() < 6 ? 6 - name.size() : 0, '0');
  return name.append(kLogEnding);
}

std::uint64_t LogNumber(std::string_view name) {
  return name.ends_with(kLogEnding) ? NumberIn(name.substr(0, name.size() - kLogEnding.size())) : 0;
}

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
