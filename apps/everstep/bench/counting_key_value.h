#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "store/key_value.h"

namespace everstep::cli {

struct RowCounts {
  std::size_t rows = 0;
  std::size_t bytes = 0;  // of their keys and values
};

// A KeyValue that counts the rows that are put into it.
class CountingKeyValue final : public KeyValue {
 public:
  CountingKeyValue(std::unique_ptr<KeyValue> tables, std::shared_ptr<RowCounts> counts)
      : tables_(std::move(tables)), counts_(std::move(counts)) {}

  std::unique_ptr<TableView> View() override { return tables_->View(); }
  std::unique_ptr<WriteBatch> NewBatch() override {
    return std::make_unique<Batch>(tables_->NewBatch(), *counts_);
  }
  Status Write(WriteBatch& batch) override {
    return tables_->Write(static_cast<Batch&>(batch).inner());
  }
  Status Refresh() override { return tables_->Refresh(); }
  Status Backup(const std::string& directory) override { return tables_->Backup(directory); }
  Status Compact() override { return tables_->Compact(); }
  std::uint64_t DiskBytes() override { return tables_->DiskBytes(); }

 private:
  class Batch final : public WriteBatch {
   public:
    Batch(std::unique_ptr<WriteBatch> inner, RowCounts& counts)
        : inner_(std::move(inner)), counts_(counts) {}
    WriteBatch& inner() { return *inner_; }
    void Put(Table table, std::string_view key, std::string_view value) override {
      ++counts_.rows;
      counts_.bytes += key.size() + value.size();
      inner_->Put(table, key, value);
    }
    void Delete(Table table, std::string_view key) override { inner_->Delete(table, key); }
    void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
      inner_->DeleteRange(table, begin, end);
    }

   private:
    std::unique_ptr<WriteBatch> inner_;
    RowCounts& counts_;
  };

  std::unique_ptr<KeyValue> tables_;
  std::shared_ptr<RowCounts> counts_;
};

}  // namespace everstep::cli
