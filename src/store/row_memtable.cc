#include "store/row_memtable.h"

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>

#include "store/skip_list.h"

namespace everstep {
namespace {

using rocksdb::Slice;

class RowMemtable final : public rocksdb::MemTableRep {
 public:
  explicit RowMemtable(rocksdb::Allocator* allocator) : MemTableRep(allocator) {}

  rocksdb::KeyHandle Allocate(std::size_t bytes, char** entry) override {
    const std::size_t height = list_.NewHeight();
    char* memory = nullptr;
    MemTableRep::Allocate(SkipList::BytesFor(height, bytes), &memory);
    *entry = SkipList::Lay(memory, height);
    return *entry;
  }
  void Insert(rocksdb::KeyHandle entry) override { InsertKey(entry); }
  bool InsertKey(rocksdb::KeyHandle entry) override {
    return list_.Insert(static_cast<const char*>(entry));
  }
  bool Contains(const char* entry) const override {
    const SkipList::Node* node = list_.AtOrBehind(SkipList::KeyOf(entry));
    return node != nullptr && SkipList::KeyOf(node->entry()) == SkipList::KeyOf(entry);
  }
  std::size_t ApproximateMemoryUsage() override { return 0; }  // the allocator counts all of it

  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

 private:
  SkipList list_;
};

class RowIterator : public rocksdb::MemTableRep::Iterator {
 public:
  explicit RowIterator(const SkipList& list) : list_(list) {}

  bool Valid() const override { return at_ != nullptr; }
  const char* key() const override { return at_->entry(); }
  void Next() override { at_ = at_->next(); }
  void Prev() override { at_ = list_.Before(SkipList::KeyOf(at_->entry())); }
  void Seek(const Slice& key, const char* entry) override {
    at_ = list_.AtOrBehind(Target(key, entry));
  }
  void SeekForPrev(const Slice& key, const char* entry) override {
    const std::string_view target = Target(key, entry);
    at_ = list_.AtOrBehind(target);
    if (at_ == nullptr || SkipList::KeyOf(at_->entry()) != target) at_ = list_.Before(target);
  }
  void SeekToFirst() override { at_ = list_.First(); }
  void SeekToLast() override { at_ = list_.Last(); }

 private:
  static std::string_view Target(const Slice& key, const char* entry) {
    return entry != nullptr ? SkipList::KeyOf(entry) : std::string_view(key.data(), key.size());
  }

  const SkipList& list_;
  const SkipList::Node* at_ = nullptr;
};

// RocksDB creates an iterator to read one row and never deletes it. This one lies in thread-local
// memory, and deleting it does nothing.
class LoanedIterator final : public RowIterator {
 public:
  using RowIterator::RowIterator;
  static void operator delete(void*) {}

  static Iterator* Lend(const SkipList& list) {
    alignas(LoanedIterator) thread_local std::byte memory[sizeof(LoanedIterator)];
    return ::new (memory) LoanedIterator(list);
  }
};

// Allocates from an arena. RocksDB's headers define neither Arena nor its base Allocator, but a
// MemTableRep can allocate from one.
class ArenaDoor final : public rocksdb::MemTableRep {
 public:
  explicit ArenaDoor(rocksdb::Arena* arena)
      : MemTableRep(reinterpret_cast<rocksdb::Allocator*>(arena)) {}
  void* Take(std::size_t bytes) {
    char* memory = nullptr;
    Allocate(bytes, &memory);
    return memory;
  }

  void Insert(rocksdb::KeyHandle) override {}
  bool Contains(const char*) const override { return false; }
  std::size_t ApproximateMemoryUsage() override { return 0; }
  Iterator* GetIterator(rocksdb::Arena*) override { return nullptr; }
};

RowMemtable::Iterator* RowMemtable::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) return new RowIterator(list_);
  void* memory = ArenaDoor(arena).Take(sizeof(RowIterator) + alignof(RowIterator) - 1);
  std::size_t space = sizeof(RowIterator) + alignof(RowIterator) - 1;
  return ::new (std::align(alignof(RowIterator), sizeof(RowIterator), memory, space))
      RowIterator(list_);
}

RowMemtable::Iterator* RowMemtable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  return arena == nullptr ? LoanedIterator::Lend(list_) : GetIterator(arena);
}

class RowMemtables final : public rocksdb::MemTableRepFactory {
 public:
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator&,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override {
    return new RowMemtable(allocator);
  }
  const char* Name() const override { return "everstep.RowMemtables"; }
  bool CanHandleDuplicatedKey() const override { return true; }
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> NewRowMemtables() {
  return std::make_shared<RowMemtables>();
}

}  // namespace everstep
