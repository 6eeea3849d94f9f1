#include "testing/faulty_key_value.h"

#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

Error Indeterminate(const char* why) { return {ErrorCode::kIndeterminate, why, {}}; }

}  // namespace

void FaultyKeyValue::PlanFault(WriteFault fault, std::uint64_t writes_before) {
  planned_ = Planned{fault, writes_before};
}

Status FaultyKeyValue::Write(WriteBatch& batch) {
  ++writes_;
  if (broken_) return Indeterminate("simulated: the engine has stopped");
  if (planned_) {
    if (planned_->writes_before == 0) {
      const WriteFault fault = planned_->fault;
      planned_.reset();
      return Fail(fault, batch);
    }
    --planned_->writes_before;
  }
  return tables_.Write(batch);
}

Status FaultyKeyValue::Fail(WriteFault fault, WriteBatch& batch) {
  switch (fault) {
    case WriteFault::kDiskFull:
      return Error{ErrorCode::kStoreFull, "simulated: the disk is full", {}};
    case WriteFault::kNothingWritten:
      broken_ = true;
      return Indeterminate("simulated: the write failed");
    case WriteFault::kWrittenAnyway:
      broken_ = true;
      EVERSTEP_ASSERT(tables_.Write(batch).has_value());
      return Indeterminate("simulated: the result of the write was lost");
    case WriteFault::kSyncFails:
      broken_ = true;
      synced_ = tables_.Copy();
      EVERSTEP_ASSERT(tables_.Write(batch).has_value());
      return Indeterminate("simulated: the sync failed");
  }
  EVERSTEP_ASSERT(false);
}

MemoryTables FaultyKeyValue::Crash() {
  broken_ = true;
  if (synced_ && random_.Next() % 2 == 0) return std::move(*std::exchange(synced_, std::nullopt));
  return tables_.Copy();
}

}  // namespace everstep
