#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/shared_limit.h"

namespace everstep {

// How many units of a shared limit (requests in flight, streams) each party holds. Thread-safe.
class PartyShares {
  struct State;
  using Entry = std::pair<const std::string, std::size_t>;

 public:
  // One unit held by a party, returned on destruction. May outlive the PartyShares.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : state_(std::move(other.state_)), entry_(std::exchange(other.entry_, nullptr)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Share() { Release(); }
    void Release() {
      if (entry_ != nullptr) state_->Leave(*std::exchange(entry_, nullptr));
      state_.reset();
    }

   private:
    friend class PartyShares;
    Share(std::shared_ptr<State> state, Entry& entry) : state_(std::move(state)), entry_(&entry) {}

    std::shared_ptr<State> state_;
    Entry* entry_ = nullptr;
  };

  explicit PartyShares(SharedLimit limit) : state_(std::make_shared<State>(limit)) {}

  // Nullopt if the party has used up its share or there is no room. The operator's units count as
  // no tenant's.
  std::optional<Share> Take(const std::string& party, bool by_operator = false) {
    const std::lock_guard lock(state_->mutex);
    Entry& entry = *state_->counts.try_emplace(by_operator ? std::string() : party).first;
    const auto answer = state_->limit.Ask(state_->all, entry.second, by_operator);
    if (answer != SharedLimit::Answer::kRoom) return std::nullopt;
    ++entry.second;
    ++state_->all;
    return Share(state_, entry);
  }

 private:
  struct State {
    explicit State(SharedLimit shared) : limit(shared) {}
    void Leave(Entry& entry) {
      const std::lock_guard lock(mutex);
      --all;
      if (--entry.second == 0 && counts.size() > kPartiesKept) counts.erase(entry.first);
    }
    static constexpr std::size_t kPartiesKept = 1'024;

    const SharedLimit limit;
    std::mutex mutex;
    std::size_t all = 0;                                  // guarded by mutex, as the next
    std::unordered_map<std::string, std::size_t> counts;  // stable addresses
  };

  const std::shared_ptr<State> state_;
};

}  // namespace everstep
