#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace everstep {

// An ordered list of entries for one writer and any number of concurrent readers, which take no
// lock. Entries are added and never removed. The caller owns their memory, which must outlive the
// list.
//
// An entry starts with a key: its length as a varint, then its bytes. Anything may follow. The last
// eight bytes of a key are a little-endian number, the others a name. Keys are ordered by name,
// bytewise, and within a name by number, greatest first.
class SkipList {
 public:
  // An entry's link on the lowest level. The links of the higher levels precede it in memory, the
  // entry follows it.
  class Node {
   public:
    const char* entry() const { return reinterpret_cast<const char*>(this + 1); }
    const Node* next() const { return next(0); }

   private:
    friend SkipList;
    std::atomic<Node*>& link(std::size_t level) {
      return (this - static_cast<std::ptrdiff_t>(level))->link_;
    }
    Node* next(std::size_t level) const {
      return (this - static_cast<std::ptrdiff_t>(level))->link_.load(std::memory_order_acquire);
    }
    std::atomic<Node*> link_ = nullptr;
  };

  SkipList() { before_.fill(head()); }
  SkipList(const SkipList&) = delete;
  SkipList& operator=(const SkipList&) = delete;

  static std::string_view KeyOf(const char* entry);

  // Writer only. To add an entry, get a height, allocate memory of that size, fill the entry where
  // Lay says, and insert it. Insert returns false and leaves the list unchanged if the key exists.
  // It is fastest near the previously added entry.
  std::size_t NewHeight();
  static std::size_t BytesFor(std::size_t height, std::size_t entry_bytes) {
    return alignof(Node) - 1 + height * sizeof(Node) + entry_bytes;
  }
  static char* Lay(char* memory, std::size_t height);
  bool Insert(const char* entry);

  // Readers. Null: there is no such entry.
  const Node* First() const { return head()->next(); }
  const Node* Last() const;
  const Node* AtOrAfter(std::string_view key) const;
  const Node* Before(std::string_view key) const;

 private:
  static constexpr std::size_t kHeightMax = 12;

  const Node* head() const { return &head_.back(); }
  Node* head() { return &head_.back(); }
  // The last entry before `key`, or the head, and its successor when it was read: the writer may
  // have inserted an entry between the two since.
  struct Place {
    const Node* before;
    const Node* next;
  };
  Place PlaceOf(std::string_view key) const;
  void FindPlace(std::string_view key);

  std::array<Node, kHeightMax> head_;       // the links of a sentinel before all entries
  std::atomic<std::size_t> height_ = 1;     // of the tallest entry
  std::array<Node*, kHeightMax> before_{};  // writer only: on each level the last entry that is not
                                            // after the one added last
  std::uint32_t random_ = 0x9e37'79b9;      // writer only
};

}  // namespace everstep
