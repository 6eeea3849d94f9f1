#include "store/skip_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
// One in so many entries reaches the next level.
constexpr std::uint32_t kBranching = 4;

// Readers take no lock, and memory is freed without destructors.
static_assert(std::atomic<SkipList::Node*>::is_always_lock_free);
static_assert(std::is_trivially_destructible_v<SkipList::Node>);

std::uint64_t NumberOf(std::string_view key) {
  static_assert(std::endian::native == std::endian::little);  // as RocksDB writes it
  std::uint64_t number = 0;
  std::memcpy(&number, key.data() + key.size() - kNumberBytes, kNumberBytes);
  return number;
}

// Returns eight bytes as a number with the same order.
std::uint64_t WordAt(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return __builtin_bswap64(word);
}

// Compares word by word: names are short, and a call of memcmp would cost more than the comparison.
bool IsBefore(std::string_view a, std::string_view b) {
  const std::size_t a_bytes = a.size() - kNumberBytes;
  const std::size_t b_bytes = b.size() - kNumberBytes;
  const char* in_a = a.data();
  const char* in_b = b.data();
  std::size_t left = std::min(a_bytes, b_bytes);
  for (; left >= kWordBytes; left -= kWordBytes, in_a += kWordBytes, in_b += kWordBytes) {
    const std::uint64_t a_word = WordAt(in_a);
    const std::uint64_t b_word = WordAt(in_b);
    if (a_word != b_word) return a_word < b_word;
  }
  if (left > 0) {
    // The number follows the name, so a whole word can be read.
    const std::size_t beyond = (kWordBytes - left) * 8;
    const std::uint64_t a_word = WordAt(in_a) >> beyond;
    const std::uint64_t b_word = WordAt(in_b) >> beyond;
    if (a_word != b_word) return a_word < b_word;
  }
  if (a_bytes != b_bytes) return a_bytes < b_bytes;
  return NumberOf(a) > NumberOf(b);
}

bool IsBefore(const SkipList::Node* node, std::string_view key) {
  return IsBefore(SkipList::KeyOf(node->entry()), key);
}

}  // namespace

std::string_view SkipList::KeyOf(const char* entry) {
  std::size_t bytes = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*entry++);
    bytes |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return {entry, bytes};
  }
}

std::size_t SkipList::NewHeight() {
  std::size_t height = 1;
  do {  // xorshift: need not be unpredictable
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
  } while (random_ % kBranching == 0 && ++height < kHeightMax);
  return height;
}

char* SkipList::Lay(char* memory, std::size_t height) {
  EVERSTEP_ASSERT(height >= 1 && height <= kHeightMax);
  void* at = memory;
  std::size_t space = BytesFor(height, 0);
  Node* first = static_cast<Node*>(std::align(alignof(Node), height * sizeof(Node), at, space));
  EVERSTEP_ASSERT(first != nullptr);
  for (std::size_t i = 0; i < height; ++i) new (first + i) Node;
  Node* node = first + height - 1;
  // Until the entry is inserted, its lowest link holds its height.
  node->link_.store(reinterpret_cast<Node*>(height), std::memory_order_relaxed);
  return reinterpret_cast<char*>(node + 1);
}

// Sets before_ to the last entries before `key`. Starts where the last search ended: goes up to the
// first level on which the key lies between an entry of before_ and its successor, then down from
// there. The levels above remain valid, because before_ of a level is never after before_ of a
// lower one. No entry is compared twice.
void SkipList::FindPlace(std::string_view key) {
  const std::size_t top = height_.load(std::memory_order_relaxed);
  const Node* not_before = nullptr;  // the last one seen that is not before the key
  const auto is_before = [&](const Node* node) {
    if (node == nullptr || node == not_before) return false;
    const bool before = IsBefore(node, key);
    if (!before) not_before = node;
    return before;
  };
  Node* at = head();
  bool passed = false;  // before_ is before the key on this level, and so on all above
  std::size_t level = 0;
  for (; level < top; ++level) {
    Node* here = before_[level];
    passed = passed || here == head() || is_before(here);
    if (!passed) continue;
    const bool between = !is_before(here->next(level));
    if (!between || at == head()) at = here;
    if (between) break;
  }
  while (level-- > 0) {
    for (Node* next = at->next(level); is_before(next); next = at->next(level)) at = next;
    before_[level] = at;
  }
}

bool SkipList::Insert(const char* entry) {
  Node* node = reinterpret_cast<Node*>(const_cast<char*>(entry)) - 1;
  const auto height = reinterpret_cast<std::size_t>(node->link_.load(std::memory_order_relaxed));
  EVERSTEP_ASSERT(height >= 1 && height <= kHeightMax);
  const std::string_view key = KeyOf(entry);
  EVERSTEP_ASSERT(key.size() >= kNumberBytes);
  FindPlace(key);
  const Node* next = before_[0]->next();
  if (next != nullptr && !IsBefore(key, KeyOf(next->entry()))) return false;
  for (std::size_t level = 0; level < height; ++level) {
    node->link(level).store(before_[level]->next(level), std::memory_order_relaxed);
  }
  // Link from the lowest level up, so that a reader that comes down a level finds the entry there
  // too.
  for (std::size_t level = 0; level < height; ++level) {
    before_[level]->link(level).store(node, std::memory_order_release);
    before_[level] = node;
  }
  EVERSTEP_ASSERT(before_[0] == node && node->next() == next);
  if (height > height_.load(std::memory_order_relaxed)) {
    height_.store(height, std::memory_order_relaxed);
  }
  return true;
}

SkipList::Place SkipList::PlaceOf(std::string_view key) const {
  EVERSTEP_ASSERT(key.size() >= kNumberBytes);
  Place place{head(), nullptr};
  for (std::size_t level = height_.load(std::memory_order_relaxed); level-- > 0;) {
    place.next = place.before->next(level);
    while (place.next != nullptr && IsBefore(place.next, key)) {
      place.before = place.next;
      place.next = place.before->next(level);
    }
  }
  return place;
}

const SkipList::Node* SkipList::AtOrAfter(std::string_view key) const { return PlaceOf(key).next; }

const SkipList::Node* SkipList::Before(std::string_view key) const {
  const Node* before = PlaceOf(key).before;
  return before == head() ? nullptr : before;
}

const SkipList::Node* SkipList::Last() const {
  const Node* at = head();
  for (std::size_t level = height_.load(std::memory_order_relaxed); level-- > 0;) {
    for (const Node* next = at->next(level); next != nullptr; next = at->next(level)) at = next;
  }
  return at == head() ? nullptr : at;
}

}  // namespace everstep
