#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace everstep {

// What a connection is waiting for. Each has one length for all connections, so that a list per
// kind is in order of time by itself and every operation takes constant time.
enum class Deadline : std::uint8_t { kHead, kBody, kIdle, kWrite, kLinger, kNone };
inline constexpr std::size_t kDeadlineKinds = static_cast<std::size_t>(Deadline::kNone);

// Part of what has a deadline; in at most one list.
struct DeadlineLink {
  Deadline kind = Deadline::kNone;
  std::chrono::steady_clock::time_point at;
  DeadlineLink* before = nullptr;
  DeadlineLink* after = nullptr;
};

// Owns none of the links. One thread.
class Deadlines {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit Deadlines(std::array<std::chrono::milliseconds, kDeadlineKinds> lengths)
      : lengths_(lengths) {
    for (DeadlineLink& list : lists_) list.before = list.after = &list;
  }
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // Begins anew. kNone: there is no deadline any more. `now` never goes back.
  void Set(DeadlineLink& link, Deadline kind, TimePoint now) {
    if (link.kind != Deadline::kNone) {
      link.before->after = link.after;
      link.after->before = link.before;
    }
    link.kind = kind;
    if (kind == Deadline::kNone) return;
    DeadlineLink& list = lists_[static_cast<std::size_t>(kind)];
    link.at = now + lengths_[static_cast<std::size_t>(kind)];
    link.before = list.before;
    link.after = &list;
    list.before->after = &link;
    list.before = &link;
  }

  // When the first is due; nothing: there is none.
  std::optional<TimePoint> Next() const {
    std::optional<TimePoint> next;
    for (const DeadlineLink& list : lists_) {
      if (list.after != &list && (!next || list.after->at < *next)) next = list.after->at;
    }
    return next;
  }

  // One that is due, taken out of its list; null: none. `kind` is what it was waiting for.
  DeadlineLink* TakeDue(TimePoint now, Deadline& kind) {
    for (DeadlineLink& list : lists_) {
      DeadlineLink* first = list.after;
      if (first == &list || first->at > now) continue;
      kind = first->kind;
      Set(*first, Deadline::kNone, now);
      return first;
    }
    return nullptr;
  }

 private:
  const std::array<std::chrono::milliseconds, kDeadlineKinds> lengths_;
  std::array<DeadlineLink, kDeadlineKinds> lists_;
};

}  // namespace everstep
