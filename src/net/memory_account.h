#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/shared_limit.h"
#include "net/tenant_account.h"

namespace everstep {

// What a request uses the server's memory for.
enum class MemoryClaim : std::uint8_t {
  kAnswer,  // a request without a body
  kBody,
  kUnprovenBody,  // of a client that is not authenticated
};

// Bytes that are held for clients. Each number includes the next.
struct HeldBytes {
  std::size_t all = 0;
  std::size_t bodies = 0;
  std::size_t unproven = 0;

  void AddBody(std::size_t bytes, MemoryClaim claim) {
    all += bytes;
    bodies += bytes;
    if (claim == MemoryClaim::kUnprovenBody) unproven += bytes;
  }
  bool operator==(const HeldBytes&) const = default;
};

// Who holds memory: a tenant, the operator, or an unknown client.
struct MemoryHolder {
  std::shared_ptr<TenantAccount> tenant{};
  bool is_operator = false;
};

// Counts the memory that all connections of a server hold, and decides whether there is room for
// more. Bodies leave a quarter to requests without a body, so that they never block a health check.
// Bodies of unknown clients have a quarter, so that they never block those of others. The total and
// the limit of bodies are shared: a tenant has its share of each, and all tenants together leave a
// tenth to the operator. Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::size_t bytes_max, std::uint32_t tenant_percent = 100)
      : all_limit_{bytes_max, tenant_percent}, bodies_limit_{bytes_max / 4 * 3, tenant_percent} {}

  void Replace(const HeldBytes& former, const HeldBytes& now) {
    Add(all_, now.all - former.all);
    Add(bodies_, now.bodies - former.bodies);
    Add(unproven_, now.unproven - former.unproven);
  }
  bool IsFull(MemoryClaim claim, const MemoryHolder& holder = {}) const {
    if (IsFull(all_limit_, Get(all_), holder)) return true;
    if (claim == MemoryClaim::kAnswer) return false;
    if (IsFull(bodies_limit_, Get(bodies_), holder)) return true;
    return claim == MemoryClaim::kUnprovenBody && Get(unproven_) > RoomFor(claim);
  }
  std::size_t bytes() const { return Get(all_); }
  // The most that can ever be held.
  std::size_t RoomFor(MemoryClaim claim) const {
    if (claim == MemoryClaim::kAnswer) return all_limit_.max;
    return claim == MemoryClaim::kBody ? bodies_limit_.max : all_limit_.max / 4;
  }
  std::uint32_t tenant_percent() const { return all_limit_.tenant_percent; }

 private:
  using Counter = std::atomic<std::size_t>;
  // Unsigned numbers wrap, so `change` may also be a decrease.
  static void Add(Counter& counter, std::size_t change) {
    if (change != 0) counter.fetch_add(change, std::memory_order_relaxed);
  }
  static std::size_t Get(const Counter& counter) { return counter.load(std::memory_order_relaxed); }
  // Checks what is already taken.
  static bool IsFull(const SharedLimit& limit, std::size_t taken, const MemoryHolder& holder) {
    const std::size_t own = holder.tenant == nullptr ? 0 : Get(holder.tenant->bytes);
    return limit.Ask(taken, own, holder.is_operator, 0) != SharedLimit::Answer::kRoom;
  }

  const SharedLimit all_limit_;
  const SharedLimit bodies_limit_;
  Counter all_ = 0;
  Counter bodies_ = 0;
  Counter unproven_ = 0;
};

// What a request takes of the account in addition to its body: the memory of its parsed form.
// Released at the end of the request. Used by one thread at a time.
class MemoryCharge {
 public:
  enum class Outcome : std::uint8_t {
    kTaken,
    kNotNow,  // others hold too much
    kNever,   // it is more than can ever be held
  };

  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept
      : account_(std::move(other.account_)),
        holder_(std::exchange(other.holder_, {})),
        held_(std::exchange(other.held_, {})) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(holder_, other.holder_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~MemoryCharge() { Release(); }

  // Must be called before the memory is used. Nothing is held unless the result is kTaken. Parsed
  // bodies leave a third of the room to those that arrive. A tenant has its share of the rest, but
  // a single request may use all of it. A small amount is available to each tenant, whatever others
  // hold.
  Outcome Take(std::shared_ptr<MemoryAccount> account, MemoryClaim claim, MemoryHolder holder,
               std::size_t bytes) {
    Release();
    const SharedLimit room{account->RoomFor(claim) / 3 * 2, account->tenant_percent()};
    if (bytes > room.max) return Outcome::kNever;
    const std::size_t own = holder.tenant == nullptr ? 0 : holder.tenant->parsed.load();
    const bool little = holder.tenant != nullptr && own + bytes <= room.max / kLittle;
    if (!little && account->bytes() + bytes > room.max) return Outcome::kNotNow;
    if (own > 0 && own + bytes > room.tenant_max()) return Outcome::kNotNow;
    account_ = std::move(account);
    holder_ = std::move(holder);
    HeldBytes wanted;
    wanted.AddBody(bytes, claim);
    Hold(wanted);
    if (!account_->IsFull(claim, {nullptr, holder_.is_operator})) return Outcome::kTaken;
    Release();
    return Outcome::kNotNow;
  }
  void Release() {
    if (account_ == nullptr) return;
    Hold({});
    account_.reset();
    holder_ = {};
  }

 private:
  static constexpr std::size_t kLittle = 16;

  void Hold(const HeldBytes& now) {
    const HeldBytes former = std::exchange(held_, now);
    account_->Replace(former, now);
    if (holder_.tenant == nullptr) return;
    holder_.tenant->bytes += now.all - former.all;
    holder_.tenant->parsed += now.all - former.all;
  }

  std::shared_ptr<MemoryAccount> account_;
  MemoryHolder holder_;
  HeldBytes held_;
};

}  // namespace everstep
