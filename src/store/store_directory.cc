#include "store/store_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "store/file_text.h"
#include "store/row_values.h"
#include "store/store_files.h"
#include "store/store_mark.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "everstep log ";

Error IoError(const std::string& path, const std::string& what) {
  return {ErrorCode::kStoreIo, path + ": " + what, {}};
}

Error NotFound(const std::string& directory, const std::string& what) {
  return {ErrorCode::kStoreNotFound, directory + ": " + what, {}};
}

// Writes and syncs a file. With empty `bytes` only syncs, for example a directory.
Status WriteSynced(const std::string& path, int flags, std::string_view bytes) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) return IoError(path, std::strerror(errno));
  const bool written = bytes.empty() || ::write(file, bytes.data(), bytes.size()) ==
                                            static_cast<ssize_t>(bytes.size());
  const bool synced = written && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (!synced) return IoError(path, std::strerror(reason));
  return Ok();
}

// Reads FORMAT. `rows_marked`: the directory has a mark that says that rows were acknowledged.
Result<std::uint64_t> ReadVersion(const std::string& directory, bool rows_marked) {
  const auto text = ReadFileText(directory + "/FORMAT");
  if (!text) return text.error();
  const std::string path = directory + "/FORMAT";
  const std::string line = text->substr(0, text->find('\n'));
  std::uint64_t version = 0;
  const char* end = line.data() + line.size();
  bool understood = line.starts_with(kTitle);
  if (understood) {
    const auto parsed = std::from_chars(line.data() + kTitle.size(), end, version);
    understood = parsed.ec == std::errc() && parsed.ptr == end && version != 0;
  }
  if (!understood) {
    return Error{ErrorCode::kStoreCorrupt,
                 path + " is damaged: it must say \"everstep log " + std::to_string(kStoreFormat) +
                     "\". " + DamageRemedy(directory),
                 {}};
  }
  if (version < kStoreFormatWithMark && rows_marked) {
    return Error{ErrorCode::kStoreCorrupt,
                 path + " is damaged: it says format " + std::to_string(version) +
                     ", but a later format has written to the store. " + DamageRemedy(directory),
                 {}};
  }
  if (version > kStoreFormat) {
    return Error{ErrorCode::kStoreFormatNewer,
                 directory + " has format " + std::to_string(version) +
                     "; this version reads up to format " + std::to_string(kStoreFormat),
                 {}};
  }
  return version;
}

struct Contents {
  bool format = false;
  bool current = false;  // the engine's entry point
  bool rows = false;     // files that hold rows, or a mark that says that there were some
  bool marked = false;   // there is such a mark
  bool other = false;
};

Result<Contents> Look(const std::string& directory) {
  Contents contents;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (name == "FORMAT") {
      contents.format = true;
    } else if (name == "CURRENT") {
      contents.current = true;
    } else if (TableNumber(name) != 0 || (LogNumber(name) != 0 && entry->file_size(failed) > 0)) {
      contents.rows = true;
    } else if (name == "MARK") {
      const auto mark = ReadMark(directory);
      contents.marked = mark && mark->last_row > 0;
      contents.rows |= contents.marked;
    } else if (name != "FORMAT.new") {
      contents.other = true;
    }
  }
  if (failed) return IoError(directory, failed.message());
  return contents;
}

Status WriteFormat(const std::string& directory, std::uint64_t version) {
  const std::string path = directory + "/FORMAT";
  const std::string fresh = path + ".new";
  const std::string text = std::string(kTitle) + std::to_string(version) + "\n";
  Status written = WriteSynced(fresh, O_WRONLY | O_CREAT | O_TRUNC, text);
  if (!written) return written;
  if (::rename(fresh.c_str(), path.c_str()) != 0) return IoError(path, std::strerror(errno));
  written = WriteSynced(directory, O_RDONLY | O_DIRECTORY, {});
  if (!written) return written;
  // The name of the directory itself is durable only after its parent is synced.
  const fs::path parent = fs::absolute(directory).lexically_normal().parent_path();
  return WriteSynced(parent, O_RDONLY | O_DIRECTORY, {});
}

// A store that is being created has no MARK yet, so it gets format 1.
Result<StoreDirectory> MakeStoreDirectory(const std::string& directory) {
  static_assert(kStoreFormatWithMark > 1);
  const Status written = WriteFormat(directory, 1);
  if (!written) return written.error();
  return StoreDirectory{.is_new = true};
}

}  // namespace

Status WriteFormatFile(const std::string& directory) {
  return WriteFormat(directory, kStoreFormat);
}

bool HasNewestFormat(const std::string& directory) {
  const auto version = ReadVersion(directory, true);
  return version && *version == kStoreFormat;
}

Result<StoreDirectory> PrepareStoreDirectory(const std::string& directory,
                                             const StoreOptions& options) {
  const bool may_create = options.create_if_missing && !options.read_only;
  std::error_code failed;
  const bool exists = fs::exists(directory, failed);
  if (failed) return IoError(directory, failed.message());
  if (!exists) return NotFound(directory, "there is no store");
  const auto contents = Look(directory);
  if (!contents) return contents.error();
  if (contents->format) {
    const auto version = ReadVersion(directory, contents->marked);
    if (!version) return version.error();
    const bool has_mark = *version >= kStoreFormatWithMark;
    if (contents->current) return StoreDirectory{.has_mark = has_mark};
    // Without its entry point, the engine would take the directory for a new one and clear it.
    if (contents->rows || has_mark) {
      return Error{ErrorCode::kStoreCorrupt,
                   directory + "/CURRENT is missing. " + DamageRemedy(directory),
                   {}};
    }
    if (may_create) return StoreDirectory{.is_new = true};
    return NotFound(directory, "the creation of the store was never completed");
  }
  if (contents->rows) {
    const std::string missing = contents->current ? "FORMAT is" : "FORMAT and CURRENT are";
    return Error{ErrorCode::kStoreCorrupt,
                 directory + "/" + missing + " missing. " + DamageRemedy(directory),
                 {}};
  }
  if (contents->current || contents->rows || contents->other) {
    return NotFound(directory, "not a store: the directory has files, but no FORMAT");
  }
  if (may_create) return MakeStoreDirectory(directory);
  return NotFound(directory, "there is no store");
}

}  // namespace everstep
