#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/shared_limit.h"
#include "net/tenant_account.h"

namespace everstep {

// What a request uses the server's memory for.
enum class MemoryClaim : std::uint8_t {
  kAnswer,  // a request without a body
  kBody,
  kUnprovenBody,  // of a client that is not authenticated
};

// Bytes that are held for clients. `all` includes the others.
struct HeldBytes {
  std::size_t all = 0;
  std::size_t bodies = 0;
  std::size_t unproven = 0;  // of clients that are not authenticated

  void AddBody(std::size_t bytes, MemoryClaim claim) {
    all += bytes;
    bodies += bytes;
    if (claim == MemoryClaim::kUnprovenBody) unproven += bytes;
  }
  bool operator==(const HeldBytes&) const = default;
};

// Who holds memory: a tenant, the operator, or a client that is not authenticated.
struct MemoryHolder {
  std::shared_ptr<TenantAccount> tenant{};
  bool is_operator = false;

  bool is_known() const { return tenant != nullptr || is_operator; }
};

// Counts the memory that all connections of a server hold, and decides whether there is room for
// more. Bodies leave a quarter to requests without a body, so that they never block a health check.
// Clients that are not authenticated have a quarter for bodies and unread answers together. The
// total and the limit of bodies are shared: a tenant has its share of each, and all tenants
// together leave a tenth to the operator, against whom clients that are not authenticated do not
// count. Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::size_t bytes_max, std::uint32_t tenant_percent = 100)
      : all_limit_{bytes_max, tenant_percent}, bodies_limit_{bytes_max / 4 * 3, tenant_percent} {}

  void Replace(const HeldBytes& former, const HeldBytes& now) {
    Add(all_, now.all - former.all);
    Add(bodies_, now.bodies - former.bodies);
    Add(unproven_, now.unproven - former.unproven);
  }
  bool IsFull(MemoryClaim claim, const MemoryHolder& holder) const {
    return IsFull(claim, holder, OwnBytes(holder));
  }
  // The same, if `own` were what the holder's tenant holds.
  bool IsFull(MemoryClaim claim, const MemoryHolder& holder, std::size_t own) const {
    const auto is_full = [&](const SharedLimit& limit, std::size_t taken) {
      return limit.Ask(taken, own, holder.is_operator, 0) != SharedLimit::Answer::kRoom;
    };
    if (is_full(all_limit_, TakenFor(holder))) return true;
    if (claim != MemoryClaim::kAnswer && is_full(bodies_limit_, Get(bodies_))) return true;
    const bool proven = claim != MemoryClaim::kUnprovenBody && holder.is_known();
    return !proven && Get(unproven_) > UnprovenMax();
  }
  static std::size_t OwnBytes(const MemoryHolder& holder) {
    return holder.tenant == nullptr ? 0 : Get(holder.tenant->bytes);
  }
  // The most that a request may reserve for its answer, so that the reserves of all threads that
  // make answers for a tenant do not fill its share.
  std::size_t ReserveMax() const { return all_limit_.tenant_max() / 16; }
  // What a tenant may hold of all.
  std::size_t tenant_max() const { return all_limit_.tenant_max(); }
  std::size_t bytes() const { return Get(all_); }
  // The most that can ever be held.
  std::size_t RoomFor(MemoryClaim claim) const {
    if (claim == MemoryClaim::kAnswer) return all_limit_.max;
    return claim == MemoryClaim::kBody ? bodies_limit_.max : UnprovenMax();
  }
  std::uint32_t tenant_percent() const { return all_limit_.tenant_percent; }

 private:
  using Counter = std::atomic<std::size_t>;
  // Unsigned numbers wrap, so `change` may also be a decrease.
  static void Add(Counter& counter, std::size_t change) {
    if (change != 0) counter.fetch_add(change, std::memory_order_relaxed);
  }
  static std::size_t Get(const Counter& counter) { return counter.load(std::memory_order_relaxed); }
  std::size_t UnprovenMax() const { return all_limit_.max / 4; }
  std::size_t TakenFor(const MemoryHolder& holder) const {
    const std::size_t all = Get(all_);
    return holder.is_operator ? all - std::min(all, Get(unproven_)) : all;
  }

  const SharedLimit all_limit_;
  const SharedLimit bodies_limit_;
  Counter all_ = 0;
  Counter bodies_ = 0;
  Counter unproven_ = 0;
};

}  // namespace everstep
