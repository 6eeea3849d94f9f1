#include "testing/simulated_engine.h"

#include <utility>

#include "base/assert.h"
#include "store/keyed_store.h"
#include "testing/forwarding_store.h"

namespace everstep {

// Sits below every planted bug, so that it sees what really becomes durable.
class SimulatedEngine::WatchedStore final : public ForwardingStore {
 public:
  WatchedStore(SimulatedEngine& world, Process& process, std::unique_ptr<StateStore> store)
      : ForwardingStore(std::move(store)), world_(world), process_(process) {}

  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    const Status written = ForwardingStore::Commit(changes, documents);
    Note(written, changes);
    if (written) world_.witness_.Committed(changes, *this, world_.clock_.Now());
    return written;
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    const Status written = ForwardingStore::PutPlan(sha256, document);
    Note(written, {});
    return written;
  }

 private:
  void Note(const Status& written, std::span<const RunChange* const> changes) {
    if (!written) {
      process_.write_failed = true;
      ++world_.failed_writes_;
    }
    if (world_.on_write_) world_.on_write_(written, changes);
  }

  SimulatedEngine& world_;
  Process& process_;
};

SimulatedEngine::SimulatedEngine(std::uint64_t seed, EngineBug bug, EngineOptions options,
                                 SimulatedWorkers& workers, EngineWitness& witness)
    : bug_(bug),
      has_little_memory_(seed % 2 == 0),
      options_(std::move(options)),
      workers_(workers),
      witness_(witness),
      disk_random_(seed ^ 0xd15c),
      engine_random_(seed ^ 0xe91e),
      clock_leaps_(seed % 3 == 0) {}

void SimulatedEngine::Pass(std::chrono::microseconds time) {
  const auto held = WatchedClock::kHeldFor - WatchedClock::kLookEvery;
  if (wall_.ahead.count() != 0 && boot_.SinceBoot() + time >= leapt_at_ + held) ComeBack();
  clock_.Advance(time);
  boot_.Advance(time);
}

void SimulatedEngine::Leap(std::chrono::microseconds by) {
  if (wall_.ahead.count() != 0) return ComeBack();
  // The clock must be seen back before it leaps again.
  if (boot_.SinceBoot() < came_back_at_ + WatchedClock::kLookEvery) return;
  (void)process_->watched->Now();
  wall_.ahead = by;
  leapt_at_ = boot_.SinceBoot();
}

void SimulatedEngine::ComeBack() {
  wall_.ahead = {};
  came_back_at_ = boot_.SinceBoot();
}

Status SimulatedEngine::Open(const std::set<std::string>& missing_tools) {
  EVERSTEP_ASSERT(process_ == nullptr);
  auto process = std::make_unique<Process>();
  auto tables = std::make_unique<FaultyKeyValue>(disk_random_, std::move(survivors_));
  process->disk = tables.get();
  // A process that starts while the clock is ahead cannot detect it.
  ComeBack();
  process->watched = std::make_unique<WatchedClock>(wall_, boot_);
  const bool watches = clock_leaps_ && bug_ != EngineBug::kFollowsLeaps;
  process->clock = PlantInClock(bug_, watches ? static_cast<Clock&>(*process->watched) : wall_);
  auto store = OpenKeyedStore(std::move(tables));
  if (!store) return store.error();
  auto watched = std::make_unique<WatchedStore>(*this, *process, std::move(*store));
  EmbeddedLog::Options log_options;
  // With so little memory, every run but one is read back from the store when it is needed again.
  if (has_little_memory_) log_options.memory_bytes_max = 1;
  auto log = std::make_unique<EmbeddedLog>(PlantInStore(bug_, std::move(watched)), *process->clock,
                                           engine_random_, log_options);
  witness_.ProcessStarted(missing_tools);
  Process& opened = *process;
  process_ = std::move(process);
  opened.engine = std::make_unique<LocalEngine>(
      LocalEngine::Parts{std::move(log), PlantInTools(bug_, workers_.NewProcess(missing_tools)),
                         nullptr, *opened.clock, engine_random_, false},
      options_);
  return Ok();
}

void SimulatedEngine::Crash() {
  survivors_ = process_->disk->Crash();
  workers_.ProcessDies();
  process_.reset();
  workers_.ProcessDied();
  auto store = OpenKeyedStore(std::make_unique<MemoryKeyValue>(survivors_));
  EVERSTEP_ASSERT(store.has_value());
  witness_.Survived(**store);
}

}  // namespace everstep
