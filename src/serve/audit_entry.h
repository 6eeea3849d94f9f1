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

// One action that somebody performed or was refused. Empty members are left out.
struct AuditEntry {
  std::string actor;  // the token's name
  std::string token_id;
  std::string tenant_id;
  std::string action;  // an operation id, or "server.start", "audit.cut", …
  std::string method;
  std::string path;  // without the query; hook tokens masked by the caller
  std::string run_id;
  int status = 0;    // of the response
  std::string code;  // the error code if refused
  std::string source_ip;
  std::string request_id;
  std::string detail;
  // True if the caller showed no valid credential. Anybody can cause such entries, so the log
  // limits their rate.
  bool anonymous = false;
};

// The key that makes an audit log hard to forge: 32 random bytes in `audit.key`, for HMAC-SHA256.
struct AuditKey {
  std::string bytes;

  // Fails with kStoreIo or kStoreCorrupt, or with kStoreNotFound if there is no key file.
  static Result<AuditKey> Read(const std::string& path);
  static AuditKey Make(Random& random);
  Status Write(const std::string& path) const;
};

// A line of the log without its line break: the RFC 8785 text of the entry with "hash" appended as
// its last member. The hash is the HMAC of the text without it; `prev` is the hash of the previous
// line.
struct AuditLine {
  std::string text;
  std::string hash;  // 64 hexadecimal digits
};
// `left_out` is the number of entries dropped before this one.
AuditLine MakeAuditLine(const AuditEntry& entry, std::uint64_t seq, Timestamp at,
                        std::string_view prev, const AuditKey& key, std::uint64_t left_out = 0);

// The parsed chain members of a line. Nullopt if the line is malformed or its hash is wrong.
struct AuditLineView {
  std::uint64_t seq = 0;
  std::string prev;
  std::string hash;
};
std::optional<AuditLineView> ReadAuditLine(std::string_view text, const AuditKey& key);

// The `prev` of the first line.
inline constexpr std::string_view kAuditStart =
    "0000000000000000000000000000000000000000000000000000000000000000";

// How far the log was durable at its last sync; stored in `audit.head`.
struct AuditHead {
  std::uint64_t seq = 0;
  std::string hash{kAuditStart};
  std::uint64_t bytes = 0;  // length of the log up to the end of that line

  bool operator==(const AuditHead&) const = default;
};
std::string WrittenHead(const AuditHead& head, const AuditKey& key);
std::optional<AuditHead> ReadHead(std::string_view text, const AuditKey& key);

}  // namespace everstep
