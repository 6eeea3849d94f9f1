#include "store/skip_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace everstep {
namespace {

std::string KeyOf(const std::string& name, std::uint64_t number) {
  std::string key = name;
  for (int i = 0; i < 8; ++i) key += static_cast<char>(number >> (8 * i) & 0xff);
  return key;
}

// A list and the memory of its entries.
class Shelf {
 public:
  bool Add(const std::string& key, const std::string& value = {}) {
    std::string entry;
    for (std::size_t left = key.size();; left >>= 7) {
      entry += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
      if (left <= 0x7f) break;
    }
    entry += key + value;
    const std::size_t height = list.NewHeight();
    char* memory = memory_.emplace_back(new char[SkipList::BytesFor(height, entry.size())]).get();
    char* laid = SkipList::Lay(memory, height);
    std::copy(entry.begin(), entry.end(), laid);
    return list.Insert(laid);
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto* node = list.First(); node != nullptr; node = node->next()) {
      keys.emplace_back(SkipList::KeyOf(node->entry()));
    }
    return keys;
  }

  SkipList list;

 private:
  std::deque<std::unique_ptr<char[]>> memory_;
};

// The order of keys, implemented independently of the list.
struct InOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    const std::string_view a_name = std::string_view(a).substr(0, a.size() - 8);
    const std::string_view b_name = std::string_view(b).substr(0, b.size() - 8);
    if (a_name != b_name) return a_name < b_name;
    return std::lexicographical_compare(
        b.rbegin(), b.rbegin() + 8, a.rbegin(), a.rbegin() + 8, [](char x, char y) {
          return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
        });
  }
};

std::optional<std::string> KeyAt(const SkipList::Node* node) {
  if (node == nullptr) return std::nullopt;
  return std::string(SkipList::KeyOf(node->entry()));
}

TEST(SkipListTest, AnEmptyListHasNoPlaces) {
  const SkipList list;
  EXPECT_EQ(list.First(), nullptr);
  EXPECT_EQ(list.Last(), nullptr);
  EXPECT_EQ(list.AtOrAfter(KeyOf("a", 1)), nullptr);
  EXPECT_EQ(list.Before(KeyOf("a", 1)), nullptr);
}

TEST(SkipListTest, TheNewestOfANameComesFirstAndAShorterNameBeforeALonger) {
  Shelf shelf;
  for (const auto& key : {KeyOf("b", 7), KeyOf("a", 1), KeyOf("ab", 300), KeyOf("a", 256)}) {
    EXPECT_TRUE(shelf.Add(key));
  }
  EXPECT_EQ(shelf.Keys(), (std::vector<std::string>{KeyOf("a", 256), KeyOf("a", 1),
                                                    KeyOf("ab", 300), KeyOf("b", 7)}));
}

TEST(SkipListTest, AKeyIsAddedOnce) {
  Shelf shelf;
  EXPECT_TRUE(shelf.Add(KeyOf("a", 1), "first"));
  EXPECT_TRUE(shelf.Add(KeyOf("b", 1)));
  EXPECT_FALSE(shelf.Add(KeyOf("a", 1), "second"));
  EXPECT_EQ(shelf.Keys().size(), 2U);
  const char* entry = shelf.list.First()->entry();
  EXPECT_EQ(std::string(entry + 1 + 9, 5), "first");
}

TEST(SkipListTest, KeysMayBeLong) {
  Shelf shelf;
  const std::string key = KeyOf(std::string(20'000, 'x'), 3);
  EXPECT_TRUE(shelf.Add(key));
  EXPECT_EQ(KeyAt(shelf.list.First()), key);
}

// Runs that grow in turns, each in its own range of keys, as commits write them.
TEST(SkipListTest, RowsOfManyRunsFindTheirPlaces) {
  Shelf shelf;
  std::vector<std::string> expected;
  for (char run = 'A'; run <= 'Z'; ++run) {
    for (int seq = 0; seq < 100; ++seq) {
      expected.push_back(KeyOf(std::string{run, static_cast<char>(seq)}, 1));
    }
  }
  for (int seq = 0; seq < 100; ++seq) {
    for (char run = 'A'; run <= 'Z'; ++run) {
      ASSERT_TRUE(shelf.Add(KeyOf(std::string{run, static_cast<char>(seq)}, 1)));
    }
  }
  EXPECT_EQ(shelf.Keys(), expected);
}

RC_GTEST_PROP(SkipListProperty, AgreesWithAMap, ()) {
  const auto name = rc::gen::container<std::string>(rc::gen::element('\0', 'a', 'b', '\xff'));
  const auto keys = *rc::gen::container<std::vector<std::string>>(
      rc::gen::apply(KeyOf, name, rc::gen::inRange<std::uint64_t>(0, 4)));
  Shelf shelf;
  std::map<std::string, int, InOrder> map;
  for (const std::string& key : keys) {
    RC_ASSERT(shelf.Add(key) == map.emplace(key, 0).second);
  }
  std::vector<std::string> sorted;
  for (const auto& [key, value] : map) sorted.push_back(key);
  RC_ASSERT(shelf.Keys() == sorted);
  RC_ASSERT(KeyAt(shelf.list.Last()) ==
            (map.empty() ? std::nullopt : std::optional(sorted.back())));
  const std::string sought = KeyOf(*name, *rc::gen::inRange<std::uint64_t>(0, 4));
  const auto at = map.lower_bound(sought);
  RC_ASSERT(KeyAt(shelf.list.AtOrAfter(sought)) ==
            (at == map.end() ? std::nullopt : std::optional(at->first)));
  RC_ASSERT(KeyAt(shelf.list.Before(sought)) ==
            (at == map.begin() ? std::nullopt : std::optional(std::prev(at)->first)));
}

TEST(SkipListConcurrent, ReadersSeeWholeEntriesInOrderWhileTheyAreAdded) {
  constexpr int kEntries = 20'000;
  Shelf shelf;
  std::atomic<bool> done = false;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::size_t seen = 0;
      while (!done) {
        std::string before;
        std::size_t count = 0;
        for (const auto* node = shelf.list.First(); node != nullptr; node = node->next()) {
          const std::string key(SkipList::KeyOf(node->entry()));
          const std::string value(node->entry() + 1 + key.size(), key.size());
          if (value != key || !(before < key)) wrong = true;
          before = key;
          ++count;
        }
        if (count < seen) wrong = true;  // what was seen stays
        seen = count;
      }
    });
  }
  std::uint32_t number = 1;
  for (int i = 0; i < kEntries; ++i) {
    number = number * 1'664'525 + 1'013'904'223;
    std::string name(4, '\0');
    for (std::size_t at = 0; at < 4; ++at) name[at] = static_cast<char>(number >> (24 - 8 * at));
    const std::string key = KeyOf(name, 1);
    ASSERT_TRUE(shelf.Add(key, key));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(shelf.Keys().size(), static_cast<std::size_t>(kEntries));
}

// A reader that looks up a name as of a number must not get an entry that was added later.
TEST(SkipListConcurrent, AnEntryThatIsAddedInFrontOfAKeyIsNotTakenForIt) {
  constexpr std::uint64_t kNumbers = 50'000;
  Shelf shelf;
  ASSERT_TRUE(shelf.Add(KeyOf("a", 1)));
  std::atomic<std::uint64_t> last = 1;
  std::atomic<bool> wrong = false;
  std::thread reader([&] {
    while (last < kNumbers) {
      const std::string sought = KeyOf("a", last);
      if (KeyAt(shelf.list.AtOrAfter(sought)) != sought) wrong = true;
    }
  });
  for (std::uint64_t number = 2; number <= kNumbers; ++number) {
    ASSERT_TRUE(shelf.Add(KeyOf("a", number)));
    last = number;
  }
  reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace everstep
