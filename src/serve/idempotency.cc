#include "serve/idempotency.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace everstep {
namespace {

constexpr std::size_t kKeyCharactersMax = 255;
constexpr std::size_t kAnswerBytesMax = 1 << 20;

// Returns the key in a header; nullopt if it is invalid.
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

Idempotency::Call::Call(Call&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      key_(other.key_),
      fingerprint_(other.fingerprint_),
      tenant_id_(std::move(other.tenant_id_)) {}

Idempotency::Call& Idempotency::Call::operator=(Call&& other) noexcept {
  if (this != &other) {
    Drop();
    owner_ = std::exchange(other.owner_, nullptr);
    key_ = other.key_;
    fingerprint_ = other.fingerprint_;
    tenant_id_ = std::move(other.tenant_id_);
  }
  return *this;
}

void Idempotency::Call::Finish(const ServerResponse& response, Keeping keeping,
                               std::function<void()> give) {
  if (owner_ == nullptr || IsWorthAnotherTry(response.status) ||
      response.body.size() > kAnswerBytesMax) {
    Drop();
    return give();
  }
  // Keep the answer before releasing the key, so that a concurrent request finds one of the two.
  Idempotency* owner = std::exchange(owner_, nullptr);
  owner->store_.Put(key_, {fingerprint_, response, false, std::move(tenant_id_)}, keeping,
                    [owner, key = key_, give = std::move(give)] {
                      owner->End(key);
                      give();
                    });
}

void Idempotency::Call::Drop() {
  Idempotency* owner = std::exchange(owner_, nullptr);
  if (owner != nullptr) owner->End(key_);
}

void Idempotency::End(const IdempotencyKeyDigest& key) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(key);
}

Idempotency::Begun Idempotency::Begin(const IdempotencyScope& scope, std::string_view header,
                                      std::string_view body) {
  Begun begun;
  const auto sent = KeyOf(header);
  if (!sent) {
    begun.outcome = Outcome::kInvalidKey;
    return begun;
  }
  std::string named;
  ByteWriter writer(named);
  for (const std::string_view part :
       {scope.tenant_id, scope.token_id, scope.method, scope.path, std::string_view(*sent)}) {
    writer.String(part);
  }
  const IdempotencyKeyDigest key = Sha256(named);
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
    if (kept->fingerprint && kept->fingerprint != fingerprint) {
      begun.outcome = Outcome::kReused;
      return begun;
    }
    if (kept->gone) {
      begun.outcome = Outcome::kGone;
      return begun;
    }
    begun.outcome = Outcome::kReplayed;
    begun.response = std::move(kept->response);
    begun.response.headers.emplace_back("Idempotency-Replayed", "true");
    return begun;
  }
  under_way_.emplace(key, fingerprint);
  begun.call.owner_ = this;
  begun.call.key_ = key;
  begun.call.fingerprint_ = fingerprint;
  begun.call.tenant_id_ = scope.tenant_id;
  return begun;
}

}  // namespace everstep
