#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace everstep {

// An ordered list of entries for one writer and any number of readers beside it, which take no
// lock. Entries are added and never removed; the memory that they lie in is the caller's and
// outlives the list.
//
// An entry is a key and whatever follows it: the key's length as a varint, then its bytes. The last
// eight of them are a number, little-endian, the others a name. Keys are ordered by name, as bytes;
// those of one name by number, the greatest first.
class SkipList {
 public:
  // The link of an entry on the lowest level. Those above lie in front of it, the entry behind.
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

  // The writer. An entry gets a height first, then memory of that size; it is filled where Lay
  // says, and added. False: its key is there already, and the list is as it was. What lies near the
  // entry that was added before it is added soonest.
  std::size_t NewHeight();
  static std::size_t BytesFor(std::size_t height, std::size_t entry_bytes) {
    return alignof(Node) - 1 + height * sizeof(Node) + entry_bytes;
  }
  static char* Lay(char* memory, std::size_t height);
  bool Insert(const char* entry);

  // The readers. Null: there is none.
  const Node* First() const { return head()->next(); }
  const Node* Last() const;
  const Node* AtOrBehind(std::string_view key) const;
  const Node* Before(std::string_view key) const;

 private:
  static constexpr std::size_t kHeightMax = 12;

  const Node* head() const { return &head_.back(); }
  Node* head() { return &head_.back(); }
  // The last entry before `key`, or the head, and what followed it when it was looked at: by now
  // the writer may have put something between the two.
  struct Place {
    const Node* before;
    const Node* next;
  };
  Place PlaceOf(std::string_view key) const;
  void FindPlace(std::string_view key);

  std::array<Node, kHeightMax> head_;       // as of an entry before all others
  std::atomic<std::size_t> height_ = 1;     // of the highest entry
  std::array<Node*, kHeightMax> before_{};  // the writer's: the last on each level that is not
                                            // behind the entry added last
  std::uint32_t random_ = 0x9e37'79b9;      // the writer's
};

}  // namespace everstep
