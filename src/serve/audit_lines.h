#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/audit_entry.h"

namespace everstep {

// Longer than any line that this server writes.
inline constexpr std::size_t kAuditLineBytesMax = 512 << 10;

// Reads a file line by line from an offset. Does not own the descriptor.
class AuditLines {
 public:
  AuditLines(int descriptor, std::uint64_t from) : descriptor_(descriptor), at_(from) {}

  struct Line {
    std::string_view text;  // without its line break; valid until the next call
    std::uint64_t end = 0;  // offset of the next line
    bool complete = false;  // has a line break and is not too long
  };
  // Nullopt at the end of the file or if it cannot be read; see failed().
  std::optional<Line> Next();
  bool failed() const { return failed_; }

 private:
  bool Fill();

  int descriptor_;
  std::uint64_t at_;  // offset of the next byte in the buffer
  std::string buffer_;
  std::size_t begin_ = 0;
  bool ended_ = false;
  bool failed_ = false;
};

// Follows the hash chain of a log and decides which lines continue it.
class AuditChain {
 public:
  AuditChain(const AuditKey& key, AuditHead from) : key_(key), head_(std::move(from)) {}

  // Returns empty if the line is the next one. Otherwise returns what is wrong and leaves the chain
  // unchanged.
  std::string Follow(const AuditLines::Line& line);
  const AuditHead& head() const { return head_; }

 private:
  const AuditKey& key_;
  AuditHead head_;
};

struct AuditVerdict {
  AuditHead head;                // the last valid entry
  std::uint64_t line = 0;        // the first invalid line, from 1; zero: all are valid
  std::string reason;            // why; also set without a line if entries at the end are missing
  std::uint64_t torn_bytes = 0;  // of an incomplete last line: being written, or left by a crash

  bool intact() const { return reason.empty(); }
};

// Checks every entry of the log in `directory`. Detects changed, removed, added and reordered
// entries; entries removed at the end are detected by means of the head. Works while a server
// writes. Fails with kStoreIo, or with kStoreNotFound if there is no log.
Result<AuditVerdict> VerifyAudit(const std::string& directory, const AuditKey& key);

// Entries as JSON, the oldest first.
struct AuditPage {
  std::vector<std::string> entries;
  std::uint64_t next_after = 0;  // where the next page continues: the last entry examined
  bool more = false;
  std::uint64_t broken = 0;  // invalid lines that were left out, and entries that are missing
};
struct AuditQuery {
  std::uint64_t after = 0;  // only entries with a greater seq
  std::size_t limit = 100;
  std::string tenant_id;  // empty: all tenants
};
// Examines a bounded number of entries, so a page with few or no entries may be followed by more.
Result<AuditPage> ReadAuditPage(const std::string& directory, const AuditKey& key,
                                const AuditQuery& query);

}  // namespace everstep
