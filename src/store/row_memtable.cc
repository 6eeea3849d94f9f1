#include "store/row_memtable.h"

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "store/skip_list.h"
#include "store/slot_pool.h"

namespace everstep {
namespace {

using rocksdb::Slice;

class RowMemtable final : public rocksdb::MemTableRep {
 public:
  RowMemtable(rocksdb::Allocator* allocator, std::shared_ptr<SlotPool> iterators)
      : MemTableRep(allocator), iterators_(std::move(iterators)) {}

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
    const SkipList::Node* node = list_.AtOrAfter(SkipList::KeyOf(entry));
    return node != nullptr && SkipList::KeyOf(node->entry()) == SkipList::KeyOf(entry);
  }
  std::size_t ApproximateMemoryUsage() override { return 0; }  // the allocator counts all of it

  void Get(const rocksdb::LookupKey& key, void* argument,
           bool (*visit)(void* argument, const char* entry)) override;
  Iterator* GetIterator(rocksdb::Arena* arena) override;

 private:
  SkipList list_;
  const std::shared_ptr<SlotPool> iterators_;
};

class RowIterator : public rocksdb::MemTableRep::Iterator {
 public:
  explicit RowIterator(const SkipList& list) : list_(list) {}

  bool Valid() const override { return at_ != nullptr; }
  const char* key() const override { return at_->entry(); }
  void Next() override { at_ = at_->next(); }
  void Prev() override { at_ = list_.Before(SkipList::KeyOf(at_->entry())); }
  void Seek(const Slice& key, const char* entry) override {
    at_ = list_.AtOrAfter(Target(key, entry));
  }
  void SeekForPrev(const Slice& key, const char* entry) override {
    const std::string_view target = Target(key, entry);
    at_ = list_.AtOrAfter(target);
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

// Holds a slot of a pool and returns it when destroyed.
class SlotLease {
 public:
  SlotLease(SlotPool& pool, void* slot) : pool_(pool), slot_(slot) {}
  ~SlotLease() { pool_.Return(slot_); }
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;

 private:
  SlotPool& pool_;
  void* const slot_;
};

// An iterator for a caller who only destroys it and does not free its memory: it lies in a slot of
// a pool. The lease is the first base, so it is destroyed last.
class PooledIterator final : private SlotLease, public RowIterator {
 public:
  static Iterator* Make(SlotPool& pool, const SkipList& list) {
    void* slot = pool.Take();
    return ::new (slot) PooledIterator(pool, slot, list);
  }

 private:
  PooledIterator(SlotPool& pool, void* slot, const SkipList& list)
      : SlotLease(pool, slot), RowIterator(list) {}
};

// Reads one row: MemTableRep::Get takes an iterator from GetDynamicPrefixIterator and never deletes
// it, so this one belongs to the lookup.
class RowLookup final : public rocksdb::MemTableRep {
 public:
  explicit RowLookup(const SkipList& list) : MemTableRep(nullptr), at_(list) {}
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena*) override { return &at_; }

  Iterator* GetIterator(rocksdb::Arena*) override { return nullptr; }
  void Insert(rocksdb::KeyHandle) override {}
  bool Contains(const char*) const override { return false; }
  std::size_t ApproximateMemoryUsage() override { return 0; }

 private:
  RowIterator at_;
};

void RowMemtable::Get(const rocksdb::LookupKey& key, void* argument,
                      bool (*visit)(void* argument, const char* entry)) {
  RowLookup(list_).Get(key, argument, visit);
}

// The caller does not free an iterator that it asks for with an arena. RocksDB's headers do not
// define Arena, so the memory is the pool's.
RowMemtable::Iterator* RowMemtable::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) return new RowIterator(list_);
  return PooledIterator::Make(*iterators_, list_);
}

class RowMemtables final : public rocksdb::MemTableRepFactory {
 public:
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator&,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override {
    return new RowMemtable(allocator, iterators_);
  }
  const char* Name() const override { return "everstep.RowMemtables"; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  // Outlives a memtable, so that the next one uses its slots.
  const std::shared_ptr<SlotPool> iterators_ = std::make_shared<SlotPool>(sizeof(PooledIterator));
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> NewRowMemtables() {
  return std::make_shared<RowMemtables>();
}

}  // namespace everstep
