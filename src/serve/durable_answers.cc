#include "serve/durable_answers.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "wire/wire.h"

namespace everstep {
namespace {

constexpr std::size_t kForgottenMax = 100'000;
constexpr std::size_t kAnswersPerWrite = 1'024;
constexpr std::size_t kBytesPerWrite = 1 << 20;

// The stored form of an answer.
struct AnswerHeader {
  std::string name;
  std::string value;
};
template <typename F>
void Describe(F& f, AnswerHeader& header) {
  f.Required("name", header.name);
  f.Required("value", header.value);
}
struct AnswerRecord {
  std::string fingerprint;
  std::string tenant_id;
  std::uint32_t status = 0;  // zero: the answer itself is not kept
  std::vector<AnswerHeader> headers;
  std::string body;
};
template <typename F>
void Describe(F& f, AnswerRecord& record) {
  f.Required("fingerprint", record.fingerprint);
  f("tenantId", record.tenant_id);
  f("status", record.status);
  f("headers", record.headers);
  f("body", record.body);
}

// The tenant is empty because the digest includes the scope. Names sort by expiry, so answers are
// loaded in the order in which they expire.
DocumentKey DocumentOf(const IdempotencyKeyDigest& key, Timestamp until) {
  std::string name;
  ByteWriter(name).U64(static_cast<std::uint64_t>(until.time_since_epoch().count()));
  name.append(reinterpret_cast<const char*>(key.data()), key.size());
  return {DocumentKind::kAnswer, "", std::move(name)};
}

std::string TextOf(const KeptAnswer& answer, Keeping keeping) {
  AnswerRecord record;
  record.fingerprint = ToHex(answer.fingerprint.value_or(Sha256Digest{}));
  record.tenant_id = answer.tenant_id;
  if (keeping == Keeping::kDurably && !answer.gone) {
    record.status = static_cast<std::uint32_t>(answer.response.status);
    for (const auto& [name, value] : answer.response.headers) {
      record.headers.push_back({name, value});
    }
    record.body = answer.response.body;
  }
  return ToWire(record);
}

std::optional<KeptAnswer> AnswerFrom(std::string_view text) {
  auto record = FromWire<AnswerRecord>(text, UnknownMembers::kIgnore);
  if (!record) return std::nullopt;
  const auto fingerprint = DigestFromHex(record->fingerprint);
  if (!fingerprint) return std::nullopt;
  KeptAnswer answer{*fingerprint, {}, record->status == 0, std::move(record->tenant_id)};
  answer.response.status = static_cast<int>(record->status);
  for (AnswerHeader& header : record->headers) {
    answer.response.headers.emplace_back(std::move(header.name), std::move(header.value));
  }
  answer.response.body = std::move(record->body);
  return answer;
}

Error Damaged() {
  return {
      ErrorCode::kStoreCorrupt,
      "a stored answer to an Idempotency-Key cannot be read: its request is not executed again, "
      "but gets no answer",
      {}};
}

}  // namespace

DurableAnswers::DurableAnswers(MemoryIdempotencyStore::Limits limits, StateStore& store,
                               Committer& committer, Clock& clock)
    : store_(store), committer_(committer), memory_(limits, clock) {
  loaded_ = Load();
  thread_ = std::thread([this] { Loop(); });
}

DurableAnswers::~DurableAnswers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Status DurableAnswers::Load() {
  Status loaded = Ok();
  DocumentQuery query;
  query.kind = DocumentKind::kAnswer;
  query.limit = 1'000;
  while (true) {
    const auto page = store_.Read()->ListDocuments(query);
    if (!page) return page.error();
    if (page->empty()) return loaded;
    query.after = page->back().key.name;
    for (const TenantDocument& document : *page) {
      ByteReader name(document.key.name);
      const Timestamp until{Timestamp::duration(static_cast<std::int64_t>(name.U64()))};
      IdempotencyKeyDigest key{};
      const std::string_view digest = name.Raw(key.size());
      auto answer = AnswerFrom(*document.text);
      if (!answer) loaded = Damaged();
      if (!name.ok() || !name.AtEnd()) {
        loaded = Damaged();
        forgotten_.push_back({document.key, std::nullopt});
        continue;
      }
      std::ranges::copy(digest, key.begin());
      // The request was executed. Executing it again would be worse than losing its answer.
      if (!answer) answer = KeptAnswer{.fingerprint = {}, .response = {}, .gone = true};
      Keep(key, *std::move(answer), until);
    }
  }
}

void DurableAnswers::Keep(const IdempotencyKeyDigest& key, KeptAnswer answer, Timestamp until) {
  const auto gone = memory_.Add(key, std::move(answer), until);
  if (gone.empty()) return;
  const std::lock_guard lock(mutex_);
  // They pile up while writes fail. Dropped ones are removed after they are next loaded.
  if (forgotten_.size() >= kForgottenMax) forgotten_.clear();
  for (const auto& each : gone) {
    forgotten_.push_back({DocumentOf(each.key, each.until), std::nullopt});
  }
}

void DurableAnswers::Put(const IdempotencyKeyDigest& key, KeptAnswer answer, Keeping keeping,
                         std::function<void()> kept) {
  if (keeping == Keeping::kInMemory) {
    Keep(key, std::move(answer), memory_.UntilFromNow());
    return kept();
  }
  {
    const std::lock_guard lock(mutex_);
    const std::string tenant = answer.tenant_id;
    auto& theirs = waiting_[tenant];
    if (theirs.empty()) turns_.push_back(tenant);
    theirs.push_back({key, std::move(answer), keeping, std::move(kept)});
    if (turns_.size() > 1 || theirs.size() > 1) return;
  }
  changed_.notify_one();
}

void DurableAnswers::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !turns_.empty(); });
    if (turns_.empty()) return;
    std::vector<Waiting> batch = TakeBatch();
    lock.unlock();
    Write(std::move(batch));
    lock.lock();
  }
}

std::vector<DurableAnswers::Waiting> DurableAnswers::TakeBatch() {
  std::vector<Waiting> batch;
  std::size_t bytes = 0;
  while (!turns_.empty() && batch.size() < kAnswersPerWrite && bytes < kBytesPerWrite) {
    const auto theirs = waiting_.find(turns_.front());
    turns_.pop_front();
    batch.push_back(std::move(theirs->second.front()));
    bytes += batch.back().answer.response.body.size();
    theirs->second.pop_front();
    if (theirs->second.empty()) {
      waiting_.erase(theirs);
    } else {
      turns_.push_back(theirs->first);
    }
  }
  return batch;
}

void DurableAnswers::Write(std::vector<Waiting> batch) {
  std::vector<TenantDocument> documents;
  const Timestamp until = memory_.UntilFromNow();
  for (Waiting& waiting : batch) {
    documents.push_back({DocumentOf(waiting.key, until), TextOf(waiting.answer, waiting.keeping)});
    Keep(waiting.key, std::move(waiting.answer), until);
  }
  std::vector<TenantDocument> forgotten;
  {
    const std::lock_guard lock(mutex_);
    forgotten.swap(forgotten_);
  }
  // Removals go last, so that an answer that was added and dropped in the same batch is removed.
  documents.insert(documents.end(), forgotten.begin(), forgotten.end());
  const Status written = committer_.Put(std::move(documents));
  if (!written) {
    const std::lock_guard lock(mutex_);
    forgotten_.insert(forgotten_.end(), forgotten.begin(), forgotten.end());
  }
  for (const Waiting& waiting : batch) waiting.kept();
}

}  // namespace everstep
