#include "work/artifact_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/disk_error.h"
#include "base/unique_fd.h"

namespace everstep {
namespace {

constexpr std::string_view kUriStart = "artifact:sha256:";
constexpr std::size_t kPieceBytes = 64 << 10;
// The limit on written but unsynced bytes. Without it, a slow disk would only show in the final
// sync, which would also delay the syncs of all other writers.
constexpr std::uint64_t kUnsyncedBytesMax = 16 << 20;

Error NotFound(std::string_view uri, const std::string& why) {
  return {ErrorCode::kArtifactNotFound, std::string(uri) + ": " + why, {}};
}

// Incremental SHA-256.
class RunningDigest {
 public:
  RunningDigest() : context_(EVP_MD_CTX_new()) {
    EVERSTEP_ASSERT(context_ != nullptr);
    EVERSTEP_ASSERT(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(std::string_view bytes) {
    EVERSTEP_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string Finish() {
    Sha256Digest digest;
    unsigned size = 0;
    EVERSTEP_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    return ToHex(digest);
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

Status MakeDirectories(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return DiskError(path, failed.value());
  return Ok();
}

Status SyncDirectory(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return DiskError(path, errno);
  return Ok();
}

// Whether the file exists and has this digest.
bool IsIntact(const std::string& path, std::string_view sha256) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  RunningDigest digest;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    if (size == 0) return digest.Finish() == sha256;
    digest.Add(std::string_view(piece.data(), static_cast<std::size_t>(size)));
  }
}

class FileWriter final : public ArtifactStore::Writer {
 public:
  FileWriter(std::string directory, std::string path, UniqueFd file)
      : directory_(std::move(directory)), path_(std::move(path)), file_(std::move(file)) {}
  ~FileWriter() override {
    if (!kept_) ::unlink(path_.c_str());
  }

  Status Append(std::string_view bytes) override {
    digest_.Add(bytes);
    size_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return DiskError(path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      unsynced_ += static_cast<std::uint64_t>(written);
    }
    if (unsynced_ < kUnsyncedBytesMax) return Ok();
    unsynced_ = 0;
    if (::fdatasync(file_.get()) != 0) return DiskError(path_, errno);
    return Ok();
  }

  const std::string& Seal() override {
    if (sha256_.empty()) sha256_ = digest_.Finish();
    return sha256_;
  }

  Result<ArtifactRef> Finish(ArtifactLabel label) override {
    const std::string& hex = Seal();
    ArtifactRef ref{std::string(kUriStart) + hex,  std::move(label.kind), hex, size_,
                    std::move(label.content_type), std::move(label.name)};
    const std::string folder = directory_ + "/" + hex.substr(0, 2);
    const std::string final_path = folder + "/" + hex;
    // An intact file was renamed after its bytes were synced. A damaged one is replaced.
    if (IsIntact(final_path, hex)) return ref;
    if (::fsync(file_.get()) != 0) return DiskError(path_, errno);
    file_.Close();
    const bool new_folder = ::access(folder.c_str(), F_OK) != 0;
    if (Status made = MakeDirectories(folder); !made) return made.error();
    if (::rename(path_.c_str(), final_path.c_str()) != 0) return DiskError(final_path, errno);
    kept_ = true;
    if (Status synced = SyncDirectory(folder); !synced) return synced.error();
    if (new_folder) {
      if (Status synced = SyncDirectory(directory_); !synced) return synced.error();
    }
    return ref;
  }

 private:
  std::string directory_;
  std::string path_;
  UniqueFd file_;
  RunningDigest digest_;
  std::string sha256_;  // empty until sealed
  std::uint64_t size_ = 0;
  std::uint64_t unsynced_ = 0;
  bool kept_ = false;
};

class FileReader final : public ArtifactStore::Reader {
 public:
  FileReader(std::string uri, UniqueFd file)
      : uri_(std::move(uri)), file_(std::move(file)), piece_(kPieceBytes) {}

  Result<std::string_view> Next() override {
    ssize_t size = 0;
    do {
      size = ::read(file_.get(), piece_.data(), piece_.size());
    } while (size < 0 && errno == EINTR);
    if (size < 0) return DiskError(uri_, errno);
    const std::string_view bytes(piece_.data(), static_cast<std::size_t>(size));
    if (!bytes.empty()) {
      digest_.Add(bytes);
      return bytes;
    }
    if (!checked_ && digest_.Finish() != uri_.substr(kUriStart.size())) {
      return Error{ErrorCode::kStoreCorrupt,
                   uri_ +
                       ": the stored bytes do not match this SHA-256; restore the file from a "
                       "backup, or upload the same bytes again",
                   {}};
    }
    checked_ = true;
    return bytes;
  }

 private:
  std::string uri_;
  UniqueFd file_;
  std::vector<char> piece_;
  RunningDigest digest_;
  bool checked_ = false;
};

}  // namespace

Value ArtifactRef::ToValue() const {
  ValueMap members = {{"uri", Value::Text(uri)},
                      {"kind", Value::Text(kind)},
                      {"sha256", Value::Text(sha256)},
                      {"sizeBytes", Value::Int(static_cast<std::int64_t>(size_bytes))},
                      {"contentType", Value::Text(content_type)}};
  if (!name.empty()) members.emplace_back("name", Value::Text(name));
  return Value::Map(std::move(members));
}

Value ArtifactRef::InResult() const { return Value::Map(ValueMap{{"$artifact", ToValue()}}); }

ArtifactStore::ArtifactStore(std::string directory) : directory_(std::move(directory)) {}

Result<std::unique_ptr<ArtifactStore::Writer>> ArtifactStore::NewWriter() const {
  // The counter makes names unique in this process, the process id among processes.
  static std::atomic<std::uint64_t> writers = 0;
  const std::string folder = directory_ + "/new";
  if (Status made = MakeDirectories(folder); !made) return made.error();
  const std::string path =
      folder + "/" + std::to_string(::getpid()) + "-" + std::to_string(++writers);
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return DiskError(path, errno);
  return std::unique_ptr<Writer>(std::make_unique<FileWriter>(directory_, path, std::move(file)));
}

void ArtifactStore::RemoveUnfinished() const {
  std::error_code ignored;
  std::filesystem::remove_all(directory_ + "/new", ignored);
}

Result<ArtifactRef> ArtifactStore::Write(std::string_view bytes, ArtifactLabel label) const {
  auto writer = NewWriter();
  if (!writer) return writer.error();
  if (Status written = (*writer)->Append(bytes); !written) return written.error();
  return (*writer)->Finish(std::move(label));
}

Result<ArtifactRef> ArtifactStore::WriteFile(const std::string& path, ArtifactLabel label,
                                             std::uint64_t bytes_max) const {
  // O_NONBLOCK: opening a named pipe must not block.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return DiskError(path, errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return DiskError(path, errno);
  if (!S_ISREG(about.st_mode)) return DiskError(path, EINVAL);
  auto writer = NewWriter();
  if (!writer) return writer.error();
  std::vector<char> piece(kPieceBytes);
  std::uint64_t total = 0;
  while (true) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return DiskError(path, errno);
    if (size == 0) break;
    total += static_cast<std::uint64_t>(size);
    if (total > bytes_max) {
      return Error{ErrorCode::kInvalidArgument,
                   path + " has more than " + std::to_string(bytes_max) + " bytes",
                   {}};
    }
    const Status written =
        (*writer)->Append(std::string_view(piece.data(), static_cast<std::size_t>(size)));
    if (!written) return written.error();
  }
  return (*writer)->Finish(std::move(label));
}

Result<std::unique_ptr<ArtifactStore::Reader>> ArtifactStore::NewReader(
    std::string_view uri) const {
  const bool named = uri.starts_with(kUriStart);
  if (!named || !DigestFromHex(uri.substr(kUriStart.size()))) {
    return NotFound(uri,
                    "not an artifact URI; it must be artifact:sha256: and 64 hexadecimal digits");
  }
  const std::string hex(uri.substr(kUriStart.size()));
  const std::string path = directory_ + "/" + hex.substr(0, 2) + "/" + hex;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return NotFound(uri, "not in " + directory_);
  if (!file) return DiskError(path, errno);
  return std::unique_ptr<Reader>(std::make_unique<FileReader>(std::string(uri), std::move(file)));
}

Result<std::string> ArtifactStore::Read(std::string_view uri) const {
  auto reader = NewReader(uri);
  if (!reader) return reader.error();
  std::string bytes;
  while (true) {
    const auto piece = (*reader)->Next();
    if (!piece) return piece.error();
    if (piece->empty()) return bytes;
    bytes.append(*piece);
  }
}

}  // namespace everstep
