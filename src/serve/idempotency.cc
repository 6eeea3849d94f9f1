#include "serve/idempotency.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace everstep {
namespace {

constexpr std::size_t kKeyCharactersMax = 255;
constexpr std::size_t kAnswerBytesMax = 1 << 20;

std::size_t BytesOf(const std::string& key, const ServerResponse& response) {
  std::size_t bytes = 256 + 2 * key.size() + response.body.size();
  for (const auto& [name, value] : response.headers) bytes += 64 + name.size() + value.size();
  return bytes;
}

// The key that a header names; nothing: it is none.
std::optional<std::string> KeyOf(std::string_view header) {
  std::string key;
  if (header.size() >= 2 && header.starts_with('"') && header.ends_with('"')) {
    header = header.substr(1, header.size() - 2);
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (header[i] == '"') return std::nullopt;
      if (header[i] == '\\' && (++i == header.size() || (header[i] != '"' && header[i] != '\\'))) {
        return std::nullopt;
      }
      key.push_back(header[i]);
    }
  } else {
    key = header;
  }
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (key.empty() || key.size() > kKeyCharactersMax || !printable) return std::nullopt;
  return key;
}

bool IsWorthAnotherTry(int status) {
  return status >= 500 || status == 408 || status == 409 || status == 425 || status == 429;
}

}  // namespace

std::optional<KeptAnswer> MemoryIdempotencyStore::Find(const std::string& key) {
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  const Entries::iterator entry = found->second;
  if (entry->until <= now) {
    Erase(entry);
    return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->answer;
}

void MemoryIdempotencyStore::Put(const std::string& key, KeptAnswer answer) {
  const std::size_t bytes = BytesOf(key, answer.response);
  const Timestamp until = clock_.Now() + limits_.lifetime;
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) Erase(found->second);
  if (bytes > limits_.bytes_max) return;
  entries_.push_front({key, std::move(answer), bytes, until});
  by_key_.emplace(entries_.front().key, entries_.begin());
  bytes_ += bytes;
  while (entries_.size() > limits_.entries_max || bytes_ > limits_.bytes_max) {
    Erase(std::prev(entries_.end()));
  }
}

void MemoryIdempotencyStore::Erase(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

std::size_t MemoryIdempotencyStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

Idempotency::Call::Call(Call&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      key_(std::move(other.key_)),
      fingerprint_(other.fingerprint_) {}

Idempotency::Call& Idempotency::Call::operator=(Call&& other) noexcept {
  if (this != &other) {
    Drop();
    owner_ = std::exchange(other.owner_, nullptr);
    key_ = std::move(other.key_);
    fingerprint_ = other.fingerprint_;
  }
  return *this;
}

void Idempotency::Call::Finish(const ServerResponse& response) {
  if (owner_ == nullptr) return;
  // Kept before it counts as done: whoever comes between finds one or the other.
  if (!IsWorthAnotherTry(response.status) && response.body.size() <= kAnswerBytesMax) {
    owner_->store_.Put(key_, {fingerprint_, response});
  }
  Drop();
}

void Idempotency::Call::Drop() {
  Idempotency* owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  const std::lock_guard lock(owner->mutex_);
  owner->under_way_.erase(key_);
}

Idempotency::Begun Idempotency::Begin(const IdempotencyScope& scope, std::string_view header,
                                      std::string_view body) {
  Begun begun;
  const auto sent = KeyOf(header);
  if (!sent) {
    begun.outcome = Outcome::kInvalidKey;
    return begun;
  }
  std::string key;
  ByteWriter writer(key);
  for (const std::string_view part :
       {scope.tenant_id, scope.token_id, scope.method, scope.path, std::string_view(*sent)}) {
    writer.String(part);
  }
  std::string asked;
  asked.reserve(scope.query.size() + body.size() + 8);
  ByteWriter asked_writer(asked);
  asked_writer.String(scope.query);
  asked_writer.Raw(body);
  const Sha256Digest fingerprint = Sha256(asked);

  const std::lock_guard lock(mutex_);
  if (const auto found = under_way_.find(key); found != under_way_.end()) {
    begun.outcome = found->second == fingerprint ? Outcome::kInUse : Outcome::kReused;
    return begun;
  }
  if (auto kept = store_.Find(key)) {
    if (kept->fingerprint != fingerprint) {
      begun.outcome = Outcome::kReused;
      return begun;
    }
    begun.outcome = Outcome::kReplayed;
    begun.response = std::move(kept->response);
    begun.response.headers.emplace_back("Idempotency-Replayed", "true");
    return begun;
  }
  under_way_.emplace(key, fingerprint);
  begun.call.owner_ = this;
  begun.call.key_ = std::move(key);
  begun.call.fingerprint_ = fingerprint;
  return begun;
}

}  // namespace everstep
