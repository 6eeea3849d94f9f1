#include "testing/simulated_log.h"

#include <utility>

#include "base/assert.h"
#include "store/keyed_store.h"

namespace everstep {
namespace {

// So little that a shard keeps one run; every other is read back when it is needed again.
constexpr AppendAuthority::Options kLittleMemory{.memory_bytes_max = 1};

}  // namespace

SimulatedLog::SimulatedLog(std::uint64_t seed, PlantedBug bug, WriteWatch watch)
    : bug_(bug),
      watch_(std::move(watch)),
      disk_random_(seed ^ 0xd15c),
      bug_random_(seed ^ 0xb06),
      id_random_(seed ^ 0x1d) {}

Status SimulatedLog::Open() {
  EVERSTEP_ASSERT(process_ == nullptr);
  auto process = std::make_unique<Process>();
  auto tables = std::make_unique<FaultyKeyValue>(disk_random_, std::move(survivors_));
  process->disk = tables.get();
  auto store = OpenKeyedStore(PlantInTables(bug_, std::move(tables), bug_random_));
  if (!store) return store.error();
  process->store = PlantInStore(bug_, std::move(*store), watch_);
  process->committer = std::make_unique<Committer>(*process->store, clock_, Committer::DurableFn());
  process->authority = std::make_unique<AppendAuthority>(*process->store, *process->committer,
                                                         clock_, id_random_, kLittleMemory);
  process_ = std::move(process);
  return Ok();
}

void SimulatedLog::Crash() {
  survivors_ = process_->disk->Crash();
  process_.reset();
}

}  // namespace everstep
