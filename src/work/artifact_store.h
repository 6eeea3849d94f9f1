#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "base/value.h"
#include "everstep/result.h"

namespace everstep {

// The reference to an artifact in the log: enough to find its bytes and to verify them.
struct ArtifactRef {
  std::string uri;   // artifact:sha256:<64 hexadecimal digits>
  std::string kind;  // result, body, stdout, stderr, file
  std::string sha256;
  std::uint64_t size_bytes = 0;
  std::string content_type;
  std::string name;  // of a file, relative to the directory where it was created; may be empty

  Value ToValue() const;
  // {"$artifact": …}, which replaces the bytes in a result.
  Value InResult() const;
};

// Describes an artifact.
struct ArtifactLabel {
  std::string kind;
  std::string content_type = "application/octet-stream";
  std::string name{};
};

// Files named after the SHA-256 of their bytes, under <directory>/<first two digits>/<all digits>.
// A file appears complete and synced, or not at all. Writing an existing artifact changes nothing,
// unless its file is damaged: then it is replaced. Thread-safe. Several processes may share a
// directory.
class ArtifactStore {
 public:
  class Writer;
  class Reader;

  // The directory is created when the first artifact is written.
  explicit ArtifactStore(std::string directory);

  Result<ArtifactRef> Write(std::string_view bytes, ArtifactLabel label) const;
  // Writes the current bytes of a file. Returns kStoreIo for a disk error, or kInvalidArgument if
  // the file is larger than `bytes_max`.
  Result<ArtifactRef> WriteFile(const std::string& path, ArtifactLabel label,
                                std::uint64_t bytes_max) const;
  Result<std::unique_ptr<Writer>> NewWriter() const;

  // Reads the whole artifact and verifies its digest. Returns kArtifactNotFound if it is missing or
  // `uri` is not the URI of an artifact, kStoreCorrupt if it is damaged, kStoreIo for a disk error.
  Result<std::string> Read(std::string_view uri) const;
  Result<std::unique_ptr<Reader>> NewReader(std::string_view uri) const;

  // Removes the unfinished files of killed writers. Requires: no writer is active.
  void RemoveUnfinished() const;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

// Writes an artifact in pieces. If it is destroyed before Finish succeeds, nothing is stored. Not
// thread-safe.
class ArtifactStore::Writer {
 public:
  virtual ~Writer() = default;
  virtual Status Append(std::string_view bytes) = 0;
  // Returns the hexadecimal SHA-256 of the appended bytes. Append must not be called afterwards.
  virtual const std::string& Seal() = 0;
  // The artifact is durable on success. Must be called once, as the last call.
  virtual Result<ArtifactRef> Finish(ArtifactLabel label) = 0;
};

// Reads an artifact in pieces. Not thread-safe.
class ArtifactStore::Reader {
 public:
  virtual ~Reader() = default;
  // Returns the next bytes, or an empty view at the end if the digest is correct. Returns
  // kStoreCorrupt at the end if it is not; the bytes returned before must then be discarded.
  virtual Result<std::string_view> Next() = 0;
};

}  // namespace everstep
