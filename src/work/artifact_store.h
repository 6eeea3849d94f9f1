#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "everstep/result.h"
#include "flow/value.h"

namespace everstep {

// What the log holds of an artifact: enough to find its bytes and to know them again.
struct ArtifactRef {
  std::string uri;   // artifact:sha256:<64 hexadecimal digits>
  std::string kind;  // result, body, stdout, stderr, file
  std::string sha256;
  std::uint64_t size_bytes = 0;
  std::string content_type;
  std::string name;  // of a file, relative to where it was made; may be empty

  Value ToValue() const;
  // {"$artifact": …}: what stands in a result in place of the bytes.
  Value InResult() const;
};

// What an artifact is, besides its bytes.
struct ArtifactLabel {
  std::string kind;
  std::string content_type = "application/octet-stream";
  std::string name{};
};

// Files named after the SHA-256 of their bytes, under <directory>/<first two digits>/<all digits>.
// A file appears whole and synced or not at all; writing what is there already changes nothing.
// Thread-safe; several processes may share a directory.
class ArtifactStore {
 public:
  class Writer;
  class Reader;

  // The directory is made when the first artifact is written.
  explicit ArtifactStore(std::string directory);

  Result<ArtifactRef> Write(std::string_view bytes, ArtifactLabel label) const;
  // A file's bytes as they are now. kStoreIo; kInvalidArgument: larger than `bytes_max`.
  Result<ArtifactRef> WriteFile(const std::string& path, ArtifactLabel label,
                                std::uint64_t bytes_max) const;
  Result<std::unique_ptr<Writer>> NewWriter() const;

  // The whole artifact, checked. kArtifactNotFound: missing, damaged, or no artifact's URI.
  Result<std::string> Read(std::string_view uri) const;
  Result<std::unique_ptr<Reader>> NewReader(std::string_view uri) const;

  // Removes what writers that were killed have left. Only while nobody writes.
  void RemoveUnfinished() const;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

// Takes an artifact in pieces. What is not finished leaves nothing. One thread.
class ArtifactStore::Writer {
 public:
  virtual ~Writer() = default;
  virtual Status Append(std::string_view bytes) = 0;
  // The SHA-256, hexadecimal, of all that was appended. Nothing is appended after it.
  virtual const std::string& Seal() = 0;
  // On return the artifact is durable. Once, as the last call.
  virtual Result<ArtifactRef> Finish(ArtifactLabel label) = 0;
};

// Gives an artifact in pieces. One thread.
class ArtifactStore::Reader {
 public:
  virtual ~Reader() = default;
  // The next bytes; empty: the end was reached and the digest is right. kArtifactNotFound at the
  // end when it is not: what was given before must not be used.
  virtual Result<std::string_view> Next() = 0;
};

}  // namespace everstep
