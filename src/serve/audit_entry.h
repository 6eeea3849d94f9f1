#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/sha256.h"
#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// One thing that somebody did or was refused. What is empty is left out.
struct AuditEntry {
  std::string actor;  // who, for people: the token's name
  std::string token_id;
  std::string tenant_id;
  std::string action;  // an operation id, or "server.start", "audit.cut" …
  std::string method;
  std::string path;  // without the query; hook tokens masked by the caller
  std::string run_id;
  int status = 0;    // of the answer
  std::string code;  // of a refusal
  std::string source_ip;
  std::string request_id;
  std::string detail;
  // Of a caller who has shown no valid credential. Anybody can make such entries, so that a log
  // takes only some of them.
  bool anonymous = false;
};

// What makes an audit log hard to forge: 32 random bytes in `audit.key`, HMAC-SHA256.
struct AuditKey {
  std::string bytes;

  // kStoreIo, kStoreCorrupt; kStoreNotFound: there is none.
  static Result<AuditKey> Read(const std::string& path);
  static AuditKey Make(Random& random);
  Status Write(const std::string& path) const;
};

// A line of the log without its line break: the RFC 8785 text of the entry, with "hash" put at its
// end. The hash is the HMAC of that text as it was before; `prev` is the hash of the line before.
struct AuditLine {
  std::string text;
  std::string hash;  // 64 hexadecimal digits
};
// `left_out`: how many entries before it were not taken.
AuditLine MakeAuditLine(const AuditEntry& entry, std::uint64_t seq, Timestamp at,
                        std::string_view prev, const AuditKey& key, std::uint64_t left_out = 0);

// What stands in a line, if it has that form and its hash is right.
struct AuditLineView {
  std::uint64_t seq = 0;
  std::string prev;
  std::string hash;
};
std::optional<AuditLineView> ReadAuditLine(std::string_view text, const AuditKey& key);

// The `prev` of the first line.
inline constexpr std::string_view kAuditStart =
    "0000000000000000000000000000000000000000000000000000000000000000";

// How far the log was durable when it was last synced: `audit.head`.
struct AuditHead {
  std::uint64_t seq = 0;
  std::string hash{kAuditStart};
  std::uint64_t bytes = 0;  // of the log, up to the end of that line

  bool operator==(const AuditHead&) const = default;
};
std::string WrittenHead(const AuditHead& head, const AuditKey& key);
std::optional<AuditHead> ReadHead(std::string_view text, const AuditKey& key);

}  // namespace everstep
