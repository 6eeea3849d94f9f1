#include "queue/run_streams.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "queue/queue_rows.h"

namespace everstep {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kNameBytesMax = 512;
constexpr std::size_t kRunIdBytesMax = 256;
constexpr std::size_t kRequestsKept = 16;
constexpr std::size_t kRequestBytesMax = 128;
constexpr std::size_t kStreamsInMemory = 4096;
constexpr std::size_t kRowsPerRead = 1000;
constexpr std::size_t kRowsPerRemoval = 1000;
constexpr std::chrono::minutes kSweepFirst{1};
constexpr std::chrono::hours kSweepEvery{1};

DocumentKey HeadKey(const StreamName& stream) {
  return {DocumentKind::kStream, stream.tenant_id, stream.run_id + '\0' + stream.name};
}

std::string ChunkPrefix(const StreamName& stream) {
  return stream.run_id + '\0' + stream.name + '\0';
}

std::string ChunkName(const StreamName& stream, std::uint64_t index) {
  std::string name = ChunkPrefix(stream);
  ByteWriter(name).U64(index);
  return name;
}

// A row for each stream without a run, ordered by creation time.
TenantDocument WithoutRunRow(Timestamp since, const StreamName& stream) {
  std::string name;
  ByteWriter(name).U64(static_cast<std::uint64_t>(Micros(since)));
  name.append(stream.tenant_id).append(1, '\0').append(HeadKey(stream).name);
  return {{DocumentKind::kStreamWithoutRun, kQueueRows, std::move(name)}, std::string()};
}

struct WithoutRun {
  Timestamp since{};
  StreamName stream;
};

WithoutRun ReadWithoutRun(std::string_view name) {
  ByteReader in(name);
  WithoutRun found;
  found.since = FromMicros(static_cast<std::int64_t>(in.U64()));
  std::string_view left = name.substr(std::min(name.size(), sizeof(std::uint64_t)));
  for (std::string* part : {&found.stream.tenant_id, &found.stream.run_id}) {
    *part = left.substr(0, left.find('\0'));
    left.remove_prefix(std::min(left.size(), part->size() + 1));
  }
  found.stream.name = left;
  return found;
}

struct Head {
  StreamExtent info;
  std::deque<std::string> requests;
};

std::string EncodeHead(const StreamExtent& info, const std::deque<std::string>& requests) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.U8(info.closed ? 1 : 0);
  out.Varint(info.chunks);
  out.Varint(requests.size());
  for (const std::string& request : requests) out.String(request);
  return bytes;
}

std::optional<Head> DecodeHead(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.U8() != kVersion) return std::nullopt;
  Head head;
  head.info.closed = in.U8() != 0;
  head.info.chunks = in.Varint();
  const std::uint64_t requests = in.Varint();
  if (requests > kRequestsKept) return std::nullopt;
  for (std::uint64_t i = 0; i < requests; ++i) head.requests.emplace_back(in.String());
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return head;
}

Error Bad(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what), {}}; }

Status Check(const StreamName& stream) {
  const auto fits = [](const std::string& text, std::size_t most) {
    return !text.empty() && text.size() <= most && text.find('\0') == std::string::npos;
  };
  if (fits(stream.run_id, kRunIdBytesMax) && fits(stream.name, kNameBytesMax)) return Ok();
  return Bad("a stream needs a run id of 1 to 256 bytes and a name of 1 to 512 bytes, without NUL");
}

Status Check(const StreamWrite& write) {
  if (write.chunks.size() > RunStreams::kChunksPerWriteMax) {
    return Bad("a request can append at most 10,000 chunks, not " +
               std::to_string(write.chunks.size()) + "; send them in several requests");
  }
  const auto is_large = [](const std::string& chunk) {
    return chunk.size() > RunStreams::kChunkBytesMax;
  };
  if (std::ranges::any_of(write.chunks, is_large)) return Bad("a chunk can have at most 4 MiB");
  if (write.request_id.size() > kRequestBytesMax) {
    return Bad("the id of a request can have at most 128 bytes");
  }
  return Check(write.stream);
}

Result<Head> ReadHead(StateReader& reader, const StreamName& stream) {
  const auto row = reader.FindDocument(HeadKey(stream));
  if (!row) return row.error();
  if (!*row) return Head{};
  auto head = DecodeHead(**row);
  if (!head) return Error{ErrorCode::kStoreCorrupt, "the row of a stream cannot be read", {}};
  return *std::move(head);
}

bool IsGrown(const StreamExtent& info, std::uint64_t from) {
  return info.closed || info.chunks > from;
}

}  // namespace

RunStreams::RunStreams(StateStore& store, Committer& committer, Clock& clock)
    : store_(store), committer_(committer), clock_(clock), thread_([this] { WatchTime(); }) {}

RunStreams::~RunStreams() {
  EndWaits();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

std::shared_ptr<RunStreams::Stream> RunStreams::Find(const StreamName& name) {
  const std::lock_guard lock(mutex_);
  // Evict streams that are not in use; they can be loaded again.
  if (streams_.size() >= kStreamsInMemory) {
    std::erase_if(streams_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto& stream = streams_[name];
  if (stream == nullptr) stream = std::make_shared<Stream>();
  return stream;
}

Status RunStreams::LoadLocked(const StreamName& name, Stream& stream) {
  if (stream.loaded) return Ok();
  auto head = ReadHead(*store_.Read(), name);
  if (!head) return std::move(head).error();
  stream.info = head->info;
  stream.requests = std::move(head->requests);
  stream.loaded = true;
  return Ok();
}

Status RunStreams::Append(const StreamName& stream, std::vector<std::string> chunks,
                          std::string request_id) {
  return WriteOne({stream, std::move(chunks), std::move(request_id), false});
}

Status RunStreams::Close(const StreamName& stream) { return WriteOne({stream, {}, {}, true}); }

Status RunStreams::WriteOne(StreamWrite write) {
  std::vector<StreamWrite> one;
  one.push_back(std::move(write));
  return Write(std::move(one)).front();
}

std::vector<Status> RunStreams::Write(std::vector<StreamWrite> writes) {
  std::vector<Status> results;
  for (const StreamWrite& write : writes) results.push_back(Check(write));
  // The number of rows that one commit writes is bounded.
  for (std::size_t begin = 0; begin < writes.size();) {
    std::size_t end = begin;
    std::size_t chunks = 0;
    do chunks += writes[end++].chunks.size();
    while (end < writes.size() && chunks + writes[end].chunks.size() <= kChunksPerWriteMax);
    const std::span all(writes);
    WriteGroup(all.subspan(begin, end - begin), std::span(results).subspan(begin, end - begin));
    begin = end;
  }
  return results;
}

void RunStreams::WriteGroup(std::span<StreamWrite> writes, std::span<Status> results) {
  Opened opened;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (results[i]) opened.try_emplace(writes[i].stream);
  }
  // Locked in the order of their names, so that two groups cannot wait for each other.
  std::vector<std::unique_lock<std::mutex>> locks;
  for (auto& [name, stream] : opened) {
    stream = Find(name);
    locks.emplace_back(stream->writing);
  }
  std::vector<TenantDocument> rows;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (results[i]) results[i] = Plan(writes[i], *opened.at(writes[i].stream), rows);
  }
  std::map<StreamName, StreamExtent> grown;
  for (const auto& [name, stream] : opened) {
    if (!std::exchange(stream->grown, false)) continue;
    grown.emplace(name, stream->info);
    rows.push_back({HeadKey(name), EncodeHead(stream->info, stream->requests)});
  }
  const Status written = rows.empty() ? Ok() : committer_.Put(std::move(rows));
  if (!written) {
    for (const auto& [name, info] : grown) opened.at(name)->loaded = false;
    for (std::size_t i = 0; i < writes.size(); ++i) {
      if (results[i] && grown.contains(writes[i].stream)) results[i] = written;
    }
    return;
  }
  locks.clear();
  for (const auto& [name, info] : grown) Wake(name, info);
}

Status RunStreams::Plan(StreamWrite& write, Stream& stream, std::vector<TenantDocument>& rows) {
  const StreamName& name = write.stream;
  if (const Status loaded = LoadLocked(name, stream); !loaded) return loaded;
  std::deque<std::string>& requests = stream.requests;
  const bool again =
      !write.request_id.empty() && std::ranges::find(requests, write.request_id) != requests.end();
  if (stream.info.closed || again || (write.chunks.empty() && !write.close)) return Ok();
  if (stream.info == StreamExtent{}) {
    const auto has_run = HasRun(name);
    if (!has_run) return has_run.error();
    if (!*has_run) rows.push_back(WithoutRunRow(clock_.Now(), name));
  }
  if (!write.request_id.empty()) {
    if (requests.size() == kRequestsKept) requests.pop_front();
    requests.push_back(std::move(write.request_id));
  }
  for (std::string& chunk : write.chunks) {
    rows.push_back(
        {{DocumentKind::kStreamChunk, name.tenant_id, ChunkName(name, stream.info.chunks++)},
         std::move(chunk)});
  }
  stream.info.closed = write.close;
  stream.grown = true;
  return Ok();
}

Result<StreamExtent> RunStreams::Extent(const StreamName& stream) {
  if (const Status fine = Check(stream); !fine) return fine.error();
  const auto head = ReadHead(*store_.Read(), stream);
  if (!head) return head.error();
  return head->info;
}

Result<StreamPage> RunStreams::Read(const StreamName& stream, std::uint64_t from, std::size_t limit,
                                    std::size_t bytes_max) {
  if (const Status fine = Check(stream); !fine) return fine.error();
  const auto reader = store_.Read();
  const auto head = ReadHead(*reader, stream);
  if (!head) return head.error();
  StreamPage page{from, {}, head->info};
  std::size_t bytes = 0;
  for (std::uint64_t index = from; index < head->info.chunks && page.chunks.size() < limit;
       ++index) {
    auto chunk = reader->FindDocument(
        {DocumentKind::kStreamChunk, stream.tenant_id, ChunkName(stream, index)});
    if (!chunk) return std::move(chunk).error();
    if (!*chunk) return Error{ErrorCode::kStoreCorrupt, "a chunk of a stream is missing", {}};
    bytes += (*chunk)->size();
    if (bytes > bytes_max && !page.chunks.empty()) break;
    page.chunks.push_back(std::move(**chunk));
  }
  return page;
}

Result<std::vector<std::string>> RunStreams::List(const std::string& tenant_id,
                                                  const std::string& run_id,
                                                  const std::string& after, std::size_t limit) {
  DocumentQuery query{.kind = DocumentKind::kStream,
                      .tenant_id = tenant_id,
                      .prefix = run_id + '\0',
                      .limit = limit};
  if (!after.empty()) query.after = query.prefix + after;
  const auto rows = store_.Read()->ListDocuments(query);
  if (!rows) return rows.error();
  std::vector<std::string> names;
  for (const TenantDocument& row : *rows) {
    names.push_back(row.key.name.substr(query.prefix.size()));
  }
  return names;
}

// ---- streams without a run

Result<bool> RunStreams::HasRun(const StreamName& name) {
  const auto run = store_.Read()->FindRun(RunId(name.run_id));
  if (!run) return run.error();
  return *run && (*run)->state.scope.tenant_id == name.tenant_id;
}

Status RunStreams::Sweep() {
  const Timestamp until = clock_.Now() - kLifeWithoutRun;
  DocumentQuery query{
      .kind = DocumentKind::kStreamWithoutRun, .tenant_id = kQueueRows, .limit = kRowsPerRead};
  while (true) {
    const auto rows = store_.Read()->ListDocuments(query);
    if (!rows) return rows.error();
    for (const TenantDocument& row : *rows) {
      const WithoutRun found = ReadWithoutRun(row.key.name);
      if (found.since > until) return Ok();
      const auto has_run = HasRun(found.stream);
      if (!has_run) return has_run.error();
      const Status removed = *has_run ? Ok() : Remove(found.stream);
      if (!removed) return removed;
      const Status noted = committer_.Put({{row.key, std::nullopt}});
      if (!noted) return noted;
    }
    if (rows->size() < kRowsPerRead) return Ok();
    query.after = rows->back().key.name;
  }
}

// Removes the last chunks first, so that the stream is intact after each part.
Status RunStreams::Remove(const StreamName& name) {
  const std::shared_ptr<Stream> stream = Find(name);
  const std::lock_guard lock(stream->writing);
  if (const Status loaded = LoadLocked(name, *stream); !loaded) return loaded;
  stream->loaded = false;
  StreamExtent left = stream->info;
  do {
    std::vector<TenantDocument> rows;
    while (left.chunks > 0 && rows.size() < kRowsPerRemoval) {
      rows.push_back(
          {{DocumentKind::kStreamChunk, name.tenant_id, ChunkName(name, --left.chunks)}, {}});
    }
    rows.push_back({HeadKey(name), {}});
    if (left.chunks > 0) rows.back().text = EncodeHead(left, {});
    if (const Status removed = committer_.Put(std::move(rows)); !removed) return removed;
  } while (left.chunks > 0);
  return Ok();
}

// ---- waiting

bool RunStreams::WhenGrown(const StreamName& stream, std::uint64_t from,
                           std::chrono::milliseconds wait, std::function<void()> ready) {
  {
    // Add the waiter before reading the extent, so that no append in between is missed.
    const std::lock_guard lock(mutex_);
    if (no_waits_ || waiters_.size() >= kWaitersMax) return false;
    const auto until = SteadyNow() + wait;
    const WaiterKey key(stream, from, ++last_waiter_);
    waiters_.emplace(key, Waiter{until, std::move(ready)});
    deadlines_.emplace(until, key);
    if (until < look_at_) woken_.notify_one();
  }
  const auto info = Extent(stream);
  if (!info || IsGrown(*info, from)) Wake(stream, info ? *info : StreamExtent{from + 1, true});
  return true;
}

RunStreams::Waiters::iterator RunStreams::Take(Waiters::iterator waiter,
                                               std::vector<std::function<void()>>& calls) {
  calls.push_back(std::move(waiter->second.ready));
  deadlines_.erase({waiter->second.until, waiter->first});
  return waiters_.erase(waiter);
}

void RunStreams::Wake(const StreamName& name, const StreamExtent& info) {
  std::vector<std::function<void()>> ready;
  {
    const std::lock_guard lock(mutex_);
    auto waiter = waiters_.lower_bound({name, 0, 0});
    while (waiter != waiters_.end() && std::get<0>(waiter->first) == name &&
           IsGrown(info, std::get<1>(waiter->first))) {
      waiter = Take(waiter, ready);
    }
  }
  for (const auto& call : ready) call();
}

void RunStreams::EndWaits() {
  std::vector<std::function<void()>> ready;
  {
    const std::lock_guard lock(mutex_);
    no_waits_ = true;
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) waiter = Take(waiter, ready);
  }
  for (const auto& call : ready) call();
}

void RunStreams::WatchTime() {
  auto sweep_at = SteadyNow() + kSweepFirst;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto now = SteadyNow();
    if (now >= sweep_at) {
      lock.unlock();
      // The next sweep retries after a failure.
      (void)Sweep();
      lock.lock();
      sweep_at = now + kSweepEvery;
      continue;
    }
    std::vector<std::function<void()>> ready;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      (void)Take(waiters_.find(deadlines_.begin()->second), ready);
    }
    if (!ready.empty()) {
      lock.unlock();
      for (const auto& call : ready) call();
      lock.lock();
      continue;
    }
    look_at_ = sweep_at;
    if (!deadlines_.empty()) look_at_ = std::min(look_at_, deadlines_.begin()->first);
    woken_.wait_until(lock, look_at_);
  }
}

}  // namespace everstep
