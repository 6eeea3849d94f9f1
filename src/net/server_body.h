#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/http_server.h"

namespace everstep {

// The bytes of one streamed body, between the connection that reads it and its taker.
class ServerBody final : public RequestBody {
 public:
  using Changed = std::function<void()>;

  // `wake` is called on any thread when there is room again after Room has returned zero.
  ServerBody(std::size_t bytes_max, std::function<void()> wake)
      : bytes_max_(bytes_max), wake_(std::move(wake)) {}
  ServerBody(const ServerBody&) = delete;
  ServerBody& operator=(const ServerBody&) = delete;

  // RequestBody
  Piece Take() override;
  void OnChange(Changed changed) override;

  // For the connection, on its loop's thread.
  // Returns how much may be written. Zero: the next Take calls `wake`.
  std::size_t Room();
  void Write(std::string piece);
  void End() { Finish(State::kWhole); }
  void Break() { Finish(State::kBroken); }
  // Bytes that are not taken yet, and those of the last Take.
  std::size_t held() const;

 private:
  void Finish(State state);
  // Calls `changed_` after releasing the lock, unless it was called already and no Take has come to
  // the end since.
  void Notify(std::unique_lock<std::mutex> lock);

  const std::size_t bytes_max_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::string pending_;
  std::size_t lent_ = 0;  // bytes of the last Take
  State state_ = State::kComing;
  std::shared_ptr<const Changed> changed_;
  bool notified_ = false;  // `changed_` was called, and no Take has returned no bytes since
  bool waiting_ = false;   // the connection, for room
};

}  // namespace everstep
