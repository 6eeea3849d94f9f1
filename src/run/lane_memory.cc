// Which runs a lane keeps in memory.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "run/lane_resident.h"

namespace everstep {

// A run that has nothing in flight leaves memory.
void Lane::Retire(Resident& resident) {
  if (resident.touched) return;
  if (!resident.run->Parked()) return Use(resident);
  const RunId run_id = resident.run->run_id();
  if (resident.deadline != Timestamp{}) deadlines_.erase({resident.deadline, run_id});
  Forget(resident);
  residents_.erase(run_id);
  world_.counters.runs_in_memory.fetch_sub(1);
}

// Notes that the run was used, and how large it is now.
void Lane::Use(Resident& resident) {
  Forget(resident);
  resident.shed = false;
  resident.program = resident.run->compiled();
  if (programs_[resident.program.get()]++ == 0) bytes_ += resident.program->bytes();
  resident.bytes = resident.run->bytes();
  bytes_ += resident.bytes;
  world_.counters.run_bytes.fetch_add(resident.bytes);
  ++loaded_[resident.run->scope().tenant_id];
  resident.use = by_use_.insert(by_use_.end(), &resident);
}

void Lane::Forget(Resident& resident) {
  if (resident.program == nullptr) return;
  const auto program = programs_.find(resident.program.get());
  EVERSTEP_ASSERT(program != programs_.end());
  if (--program->second == 0) {
    bytes_ -= resident.program->bytes();
    programs_.erase(program);
  }
  resident.program.reset();
  EVERSTEP_ASSERT(bytes_ >= resident.bytes);
  bytes_ -= resident.bytes;
  world_.counters.run_bytes.fetch_sub(resident.bytes);
  const auto tenant = loaded_.find(resident.run->scope().tenant_id);
  EVERSTEP_ASSERT(tenant != loaded_.end());
  if (--tenant->second == 0) loaded_.erase(tenant);
  by_use_.erase(resident.use);
}

void Lane::Shed(Resident& resident) {
  EVERSTEP_ASSERT(!resident.touched && !resident.shed);
  Forget(resident);
  resident.goes_on = resident.run->more() || resident.computes == turns_;
  resident.run->Shed();
  resident.shed = true;
}

// Sheds the runs that wait for something first, the least recently used before the others; then
// those that go on by themselves, the last before the others, so that the first of them can end.
void Lane::ShedRuns() {
  const std::uint64_t wanted = std::exchange(wanted_, 0);
  const auto is_short = [this](std::uint64_t more) {
    return bytes_ > options_.memory_bytes_max || more > options_.memory_bytes_max - bytes_;
  };
  for (auto next = by_use_.begin(); next != by_use_.end() && is_short(wanted);) {
    Resident& resident = **next++;
    if (!resident.run->more() && resident.computes != turns_) Shed(resident);
  }
  while (by_use_.size() > 1 && is_short(0)) Shed(*by_use_.back());
  EVERSTEP_ASSERT(!by_use_.empty() || (bytes_ == 0 && programs_.empty() && loaded_.empty()));
}

// Returns true if the order only continues a run that was shed, and has to wait until other runs of
// its tenant have left memory.
bool Lane::WaitsForMemory(const LaneOrder& order) {
  const bool reports = std::holds_alternative<ReportOrder>(order.what);
  if (!reports && !std::holds_alternative<RecoverOrder>(order.what)) return false;
  const auto resident = residents_.find(order.run_id);
  const bool known = resident != residents_.end();
  if (known ? !resident->second->shed || (reports && !resident->second->goes_on) : reports) {
    return false;
  }
  const std::uint64_t bytes = known ? resident->second->bytes : 0;
  if (bytes_ <= options_.memory_bytes_max && bytes <= options_.memory_bytes_max - bytes_) {
    return false;
  }
  if (!loaded_.contains(TenantOf(order))) return false;
  wanted_ = std::max(wanted_, bytes);
  return true;
}

}  // namespace everstep
