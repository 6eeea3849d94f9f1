#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace everstep {

// What a connection is waiting for. A kind has the same length for all connections, so a list per
// kind stays sorted by time and every operation takes constant time.
enum class Deadline : std::uint8_t { kHead, kBody, kIdle, kWrite, kLinger, kNone };
inline constexpr std::size_t kDeadlineKinds = static_cast<std::size_t>(Deadline::kNone);

// Base of an object that has a deadline. In at most one list.
struct DeadlineLink {
  Deadline kind = Deadline::kNone;
  std::chrono::steady_clock::time_point at;
  DeadlineLink* before = nullptr;
  DeadlineLink* after = nullptr;
};

// Keeps the deadlines of links, which it does not own. Used by one thread.
class Deadlines {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit Deadlines(std::array<std::chrono::milliseconds, kDeadlineKinds> lengths)
      : lengths_(lengths) {
    for (DeadlineLink& list : lists_) list.before = list.after = &list;
  }
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // Starts the deadline of a link from the beginning. kNone: the link has no deadline any more.
  // Requires: `now` never goes back.
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

  // Returns when the first deadline is due, or nothing if there is none.
  std::optional<TimePoint> Next() const {
    std::optional<TimePoint> next;
    for (const DeadlineLink& list : lists_) {
      if (list.after != &list && (!next || list.after->at < *next)) next = list.after->at;
    }
    return next;
  }

  // Removes a link that is due and returns it, or null if there is none. Sets `kind` to what the
  // link was waiting for.
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
