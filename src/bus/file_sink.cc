#include "bus/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/unique_fd.h"
#include "work/worker_threads.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kCurrent = "events.ndjson";

Error Failed(const std::string& what) {
  return {ErrorCode::kStoreIo, what + ": " + std::strerror(errno), {}};
}

// The number of a rotated file; zero for any other file.
std::uint64_t NumberOf(const std::string& name) {
  constexpr std::string_view kBegin = "events.";
  constexpr std::string_view kEnd = ".ndjson";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return 0;
  if (name.size() <= kBegin.size() + kEnd.size()) return 0;
  std::uint64_t number = 0;
  const char* first = name.data() + kBegin.size();
  const char* last = name.data() + name.size() - kEnd.size();
  const auto read = std::from_chars(first, last, number);
  return read.ec == std::errc() && read.ptr == last ? number : 0;
}

class FileSink final : public Sink {
 public:
  FileSink(std::string directory, SinkDefinition::File options)
      : directory_(std::move(directory)), options_(std::move(options)), thread_(1) {}

  bool takes_whole_batches() const override { return true; }

  void Deliver(std::vector<Message> batch, Done done) override {
    thread_.Run([this, batch = std::move(batch), done = std::move(done)] {
      const Status written = Append(batch);
      const Outcome outcome = written ? Outcome{Verdict::kDelivered}
                                      : Outcome{Verdict::kUnavailable, written.error().message};
      done(std::vector<Outcome>(batch.size(), outcome));
    });
  }

  Status Open();

 private:
  std::string Current() const { return directory_ + "/" + std::string(kCurrent); }
  Status Append(const std::vector<Message>& batch);
  Status WriteAll(std::string_view text);
  Status CutTail();
  Status Rotate();
  Status SyncDirectory() const;

  const std::string directory_;
  const SinkDefinition::File options_;
  UniqueFd file_;
  std::uint64_t size_ = 0;  // complete lines only
  WorkerThreads thread_;    // declared last: it is destroyed before the members it uses
};

Status FileSink::Open() {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) {
    return Error{ErrorCode::kStoreIo, "cannot create " + directory_ + ": " + error.message(), {}};
  }
  file_ = UniqueFd(::open(Current().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_) return Failed("cannot open " + Current());
  if (const Status cut = CutTail(); !cut) return cut;
  return SyncDirectory();
}

// Cuts off an incomplete last line; it was never acknowledged.
Status FileSink::CutTail() {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return Failed("cannot read " + Current());
  std::uint64_t end = static_cast<std::uint64_t>(info.st_size);
  std::string piece;
  while (end > 0) {
    const std::uint64_t from = end - std::min<std::uint64_t>(end, 64 << 10);
    piece.resize(end - from);
    const ssize_t got = ::pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(from));
    if (got != static_cast<ssize_t>(piece.size())) return Failed("cannot read " + Current());
    const std::size_t line_end = piece.rfind('\n');
    end = line_end == std::string::npos ? from : from + line_end + 1;
    if (line_end != std::string::npos) break;
  }
  size_ = end;
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
    return Failed("cannot truncate " + Current());
  }
  return Ok();
}

Status FileSink::Append(const std::vector<Message>& batch) {
  if (!file_) {
    if (const Status opened = Open(); !opened) return opened;
  }
  if (size_ >= options_.rotate_bytes) {
    if (const Status rotated = Rotate(); !rotated) return rotated;
  }
  std::string text;
  for (const Message& message : batch) text.append(message.body).push_back('\n');
  Status written = WriteAll(text);
  if (written && ::fdatasync(file_.get()) != 0) written = Failed("cannot sync " + Current());
  if (written) {
    size_ += text.size();
    return Ok();
  }
  // Remove a partial batch. After a failed sync the file's content is unknown, so reopen it.
  (void)::ftruncate(file_.get(), static_cast<off_t>(size_));
  file_ = UniqueFd();
  return written;
}

Status FileSink::WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file_.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failed("cannot write " + Current());
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return Ok();
}

Status FileSink::Rotate() {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    if (const std::uint64_t number = NumberOf(entry.path().filename().string())) {
      numbers.push_back(number);
    }
  }
  std::ranges::sort(numbers);
  const auto path = [this](std::uint64_t number) {
    return directory_ + "/events." + std::to_string(number) + ".ndjson";
  };
  const std::uint64_t next = numbers.empty() ? 1 : numbers.back() + 1;
  if (::rename(Current().c_str(), path(next).c_str()) != 0)
    return Failed("cannot rotate " + Current());
  numbers.push_back(next);
  for (std::size_t i = 0; options_.keep > 0 && i + options_.keep < numbers.size(); ++i) {
    fs::remove(path(numbers[i]), error);
  }
  file_ = UniqueFd();
  return Open();
}

Status FileSink::SyncDirectory() const {
  const UniqueFd folder(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return Failed("cannot sync " + directory_);
  return Ok();
}

}  // namespace

Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& directory,
                                           const SinkDefinition::File& options) {
  auto sink = std::make_unique<FileSink>(directory, options);
  if (const Status opened = sink->Open(); !opened) return opened.error();
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace everstep
