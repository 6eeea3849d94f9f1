#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/unique_fd.h"
#include "everstep/result.h"
#include "serve/audit_entry.h"
#include "serve/audit_lines.h"

namespace everstep {

// Who did what: `audit.log` in the data folder, one JSON object per line, each bound to the one
// before by an HMAC whose key is in `audit.key`. Entries are written and synced in batches by a
// thread of its own. Thread-safe; one process writes.
class AuditLog {
 public:
  // Told once when the entry is durable or could not be made so, on the log's thread; must not
  // block and must not append. After an error the entry is still kept and written when it can be.
  using Told = std::function<void(const Status&)>;

  // Opens or creates the log. What a crash left of a last line is cut off, and the cut recorded
  // ("audit.cut"). A log that is not what it was when it was last synced is opened all the same,
  // and that recorded too ("audit.broken"). kStoreIo, kStoreCorrupt; kStoreNotFound: there is a log
  // but not its key.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& directory, Clock& clock,
                                                Random& random);
  // Writes what is left.
  ~AuditLog();

  // Entries of anonymous callers that are taken in a minute. Of the others the next entry that is
  // taken, whosever it is, says how many there were.
  static constexpr std::uint32_t kAnonymousPerMinute = 60;

  // The entry's seq; it has its place in the chain. Zero: it is one of too many anonymous ones, and
  // is counted. kStoreIo: the log has failed for good, or more waits to be written than memory is
  // for (disk full): the entry is not taken.
  Result<std::uint64_t> Append(const AuditEntry& entry, Told told = {});
  // Waits until everything that was appended is durable, or could not be made so.
  Status Sync();

  // How far it is durable.
  AuditHead head() const;
  Result<AuditPage> Read(const AuditQuery& query) const;
  const AuditKey& key() const { return key_; }

 private:
  struct Batch {
    std::string text;
    AuditHead head;  // at its end, but for the bytes
    std::vector<Told> told;
  };

  AuditLog(std::string directory, Clock& clock);
  Status OpenFiles(Random& random);
  Status Recover();
  // What is wrong with the log up to the head that was last written; empty: nothing.
  std::string CheckHead(const AuditHead& head, std::uint64_t size) const;
  // False: there are too many in this minute. The lock is held.
  bool TakesAnonymous(Timestamp now);
  void Run();
  // On the thread, without the lock.
  Status Write(const Batch& batch, std::uint64_t at, bool& hopeless);

  const std::string directory_;
  Clock& clock_;
  AuditKey key_;
  UniqueFd log_;
  UniqueFd head_file_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Batch pending_;
  AuditHead next_;               // seq and hash of the last that was appended
  Timestamp minute_{};           // when the minute began in which anonymous entries are counted
  std::uint32_t anonymous_ = 0;  // that were taken in it
  std::uint64_t left_out_ = 0;   // since the last entry
  AuditHead durable_;
  Status outcome_ = Ok();       // of the last write
  std::uint64_t attempts_ = 0;  // writes that have ended
  bool hopeless_ = false;       // nothing is written any more
  bool writing_ = false;
  bool asked_ = false;  // to write again what could not be written
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace everstep
