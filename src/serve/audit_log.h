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

// The audit trail: `audit.log` in the data directory, one JSON object per line, chained to the
// previous line by an HMAC whose key is in `audit.key`. A separate thread writes and syncs entries
// in batches. Thread-safe; only one process may write.
class AuditLog {
 public:
  // Called once, on the log's thread, when the entry is durable or its write failed. Must not block
  // and must not append. After an error the entry is kept and written when possible.
  using OnDurable = std::function<void(const Status&)>;

  // Opens or creates the log. Removes what a crash left of an incomplete last line and records that
  // as "audit.cut". A log that does not match its last synced head is opened anyway, and that is
  // recorded as "audit.broken". Fails with kStoreIo or kStoreCorrupt, or with kStoreNotFound if a
  // log exists without its key.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& directory, Clock& clock,
                                                Random& random);
  // Writes what is pending.
  ~AuditLog();

  // The number of entries from anonymous callers accepted per minute. Dropped ones are counted in
  // the next accepted entry, whoever it is from.
  static constexpr std::uint32_t kAnonymousPerMinute = 60;

  // Returns the entry's seq; its place in the chain is then fixed. Returns zero if the entry was
  // dropped because of too many anonymous ones; it is counted. Fails with kStoreIo, without taking
  // the entry, if the log has failed for good or too much is waiting to be written (disk full).
  Result<std::uint64_t> Append(const AuditEntry& entry, OnDurable on_durable = {});
  // Waits until everything appended so far is durable or its write failed.
  Status Sync();

  // Why the log did not match its last recorded state when it was opened; empty if it did.
  const std::string& broken() const { return broken_; }
  // How far the log is durable.
  AuditHead head() const;
  Result<AuditPage> Read(const AuditQuery& query) const;
  const AuditKey& key() const { return key_; }

 private:
  struct Batch {
    std::string text;
    AuditHead head;  // at the end of the text; `bytes` is not yet set
    std::vector<OnDurable> on_durable;
  };

  AuditLog(std::string directory, Clock& clock);
  Status OpenFiles(Random& random);
  Status Recover();
  // Returns what is wrong with the log up to the last written head; empty if nothing is.
  std::string CheckHead(const AuditHead& head, std::uint64_t size) const;
  // Returns false if there were too many in this minute. Must be called with the lock held.
  bool TakesAnonymous(Timestamp now);
  void Run();
  // Runs on the log's thread, without the lock.
  Status Write(const Batch& batch, std::uint64_t at, bool& hopeless);

  const std::string directory_;
  Clock& clock_;
  AuditKey key_;
  UniqueFd log_;
  UniqueFd head_file_;
  std::string broken_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Batch pending_;
  AuditHead next_;               // seq and hash of the last appended entry
  Timestamp minute_{};           // start of the minute in which anonymous entries are counted
  std::uint32_t anonymous_ = 0;  // accepted in that minute
  std::uint64_t left_out_ = 0;   // dropped since the last entry
  AuditHead durable_;
  Status outcome_ = Ok();       // of the last write
  std::uint64_t attempts_ = 0;  // finished writes
  bool hopeless_ = false;       // nothing can be written any more
  bool writing_ = false;
  bool asked_ = false;  // there is something to write, or to retry
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace everstep
