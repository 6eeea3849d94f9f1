#include "net/memory_charge.h"

#include <utility>

#include "base/shared_limit.h"

namespace everstep {
namespace {

// The part of a room that counts as little.
constexpr std::size_t kLittle = 16;

HeldBytes OfBody(std::size_t bytes, MemoryClaim claim) {
  HeldBytes held;
  held.AddBody(bytes, claim);
  return held;
}

HeldBytes OfAnswer(std::size_t bytes, const MemoryHolder& holder) {
  return {.all = bytes, .bodies = 0, .unproven = holder.is_known() ? 0 : bytes};
}

}  // namespace

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(holder_, other.holder_);
  std::swap(held_, other.held_);
  std::swap(parsed_, other.parsed_);
  return *this;
}

void MemoryCharge::TakeBody(std::shared_ptr<MemoryAccount> account, MemoryClaim claim,
                            MemoryHolder holder, std::size_t bytes) {
  Release();
  Hold(std::move(account), std::move(holder), OfBody(bytes, claim), false);
}

MemoryCharge::Outcome MemoryCharge::TakeParsed(std::shared_ptr<MemoryAccount> account,
                                               MemoryClaim claim, MemoryHolder holder,
                                               std::size_t bytes, std::size_t body_bytes) {
  Release();
  const SharedLimit room{account->RoomFor(claim) / 3 * 2, account->tenant_percent()};
  if (bytes > room.max) return Outcome::kNever;
  const std::size_t own = holder.tenant == nullptr ? 0 : holder.tenant->parsed.load();
  const bool little = holder.tenant != nullptr && own + bytes <= room.max / kLittle;
  if (!little && account->bytes() + bytes > room.max + body_bytes) return Outcome::kNotNow;
  if (own > 0 && own + bytes > room.tenant_max()) return Outcome::kNotNow;
  Hold(std::move(account), std::move(holder), OfBody(bytes, claim), true);
  if (!account_->IsFull(claim, holder_, 0)) return Outcome::kTaken;
  Release();
  return Outcome::kNotNow;
}

// Holds first, so that of several threads that ask at the same time none overlooks another.
bool MemoryCharge::TakeAnswer(std::shared_ptr<MemoryAccount> account, MemoryHolder holder,
                              std::size_t bytes) {
  HoldAnswer(std::move(account), std::move(holder), bytes);
  const std::size_t own = MemoryAccount::OwnBytes(holder_);
  const bool is_alone = own <= bytes + account_->tenant_max() / kLittle;
  if (!account_->IsFull(MemoryClaim::kAnswer, holder_, is_alone ? 0 : own)) return true;
  Release();
  return false;
}

void MemoryCharge::HoldAnswer(std::shared_ptr<MemoryAccount> account, MemoryHolder holder,
                              std::size_t bytes) {
  Release();
  const HeldBytes held = OfAnswer(bytes, holder);
  Hold(std::move(account), std::move(holder), held, false);
}

void MemoryCharge::MoveTo(const MemoryHolder& holder) {
  if (account_ == nullptr || holder.tenant == holder_.tenant) return;
  std::shared_ptr<MemoryAccount> account = account_;
  const HeldBytes held = held_;
  const bool parsed = parsed_;
  Release();
  Hold(std::move(account), holder, held, parsed);
}

void MemoryCharge::Release() {
  if (account_ == nullptr) return;
  account_->Replace(held_, {});
  if (holder_.tenant != nullptr) {
    holder_.tenant->bytes -= held_.all;
    if (parsed_) holder_.tenant->parsed -= held_.all;
  }
  account_.reset();
  holder_ = {};
  held_ = {};
}

void MemoryCharge::Hold(std::shared_ptr<MemoryAccount> account, MemoryHolder holder,
                        const HeldBytes& bytes, bool parsed) {
  account_ = std::move(account);
  holder_ = std::move(holder);
  held_ = bytes;
  parsed_ = parsed;
  account_->Replace({}, held_);
  if (holder_.tenant == nullptr) return;
  holder_.tenant->bytes += held_.all;
  if (parsed_) holder_.tenant->parsed += held_.all;
}

}  // namespace everstep
