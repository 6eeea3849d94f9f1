#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "net/memory_account.h"

namespace everstep {

// A part of the account that outlives the round of a connection: what a request takes for its body,
// for the parsed form of its body, or for its answer. Given back on destruction. Used by one thread
// at a time.
class MemoryCharge {
 public:
  enum class Outcome : std::uint8_t {
    kTaken,
    kNotNow,  // others hold too much
    kNever,   // it is more than can ever be held
  };

  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept { *this = std::move(other); }
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  ~MemoryCharge() { Release(); }

  // Each of these releases what was held before.

  // For a body that has arrived. Always held: whether there is room was asked before.
  void TakeBody(std::shared_ptr<MemoryAccount> account, MemoryClaim claim, MemoryHolder holder,
                std::size_t bytes);
  // For what a body is parsed into. Must be called before the memory is used. Nothing is held
  // unless the result is kTaken. Parsed bodies leave a third of the room to those that arrive. A
  // tenant has its share of the rest, but a single request may use all of it: `body_bytes`, which
  // it holds for its body, do not count against it. A small amount is available to each tenant,
  // whatever others hold.
  Outcome TakeParsed(std::shared_ptr<MemoryAccount> account, MemoryClaim claim, MemoryHolder holder,
                     std::size_t bytes, std::size_t body_bytes = 0);
  // For an answer: called before it is made, and again with its real size. Returns false, and holds
  // nothing, if there is no room. A tenant that holds little else may exceed its share with one
  // answer.
  bool TakeAnswer(std::shared_ptr<MemoryAccount> account, MemoryHolder holder, std::size_t bytes);
  // Like TakeAnswer, but even if there is no room.
  void HoldAnswer(std::shared_ptr<MemoryAccount> account, MemoryHolder holder, std::size_t bytes);

  // Charges another holder from now on.
  void MoveTo(const MemoryHolder& holder);
  void Release();
  bool is_held() const { return account_ != nullptr; }
  std::size_t bytes() const { return held_.all; }

 private:
  void Hold(std::shared_ptr<MemoryAccount> account, MemoryHolder holder, const HeldBytes& bytes,
            bool parsed);

  std::shared_ptr<MemoryAccount> account_;  // null: nothing is held
  MemoryHolder holder_;
  HeldBytes held_;
  bool parsed_ = false;
};

}  // namespace everstep
