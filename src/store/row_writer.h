#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "everstep/result.h"
#include "store/key_value.h"

namespace everstep {

// Writes rows in batches of bounded size. The caller must call Flush() at the end.
class RowWriter {
 public:
  explicit RowWriter(KeyValue& rows) : rows_(rows), batch_(rows.NewBatch()) {}

  Status Put(Table table, std::string_view key, std::string_view value) {
    batch_->Put(table, key, value);
    return Count(key.size() + value.size());
  }
  Status Delete(Table table, std::string_view key) {
    batch_->Delete(table, key);
    return Count(key.size());
  }
  Status DeleteRange(Table table, std::string_view begin, std::string_view end) {
    batch_->DeleteRange(table, begin, end);
    return Count(begin.size() + end.size());
  }
  Status Flush() {
    if (bytes_ == 0) return Ok();
    const Status written = rows_.Write(*batch_);
    batch_ = rows_.NewBatch();
    bytes_ = 0;
    return written;
  }

 private:
  Status Count(std::size_t bytes) {
    EVERSTEP_ASSERT(bytes_ < kBytesPerWrite);
    bytes_ += bytes + 1;
    return bytes_ < kBytesPerWrite ? Ok() : Flush();
  }

  static constexpr std::size_t kBytesPerWrite = 1 << 20;

  KeyValue& rows_;
  std::unique_ptr<WriteBatch> batch_;
  std::size_t bytes_ = 0;
};

}  // namespace everstep
