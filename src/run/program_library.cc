#include "run/program_library.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "run/plan_program.h"

namespace everstep {
namespace {

std::string KeyOf(const ProgramRef& ref) { return ref.format + ":" + ref.sha256; }

Result<std::shared_ptr<const CompiledProgram>> Compiled(Result<std::shared_ptr<const Plan>> plan) {
  if (!plan) return std::move(plan).error();
  return std::shared_ptr<const CompiledProgram>(std::make_shared<CompiledPlan>(*std::move(plan)));
}

}  // namespace

Result<std::shared_ptr<const CompiledProgram>> PlanFormat::Read(std::string_view document) const {
  return Compiled(ReadPlan(document, audience_));
}

Result<std::shared_ptr<const CompiledProgram>> PlanFormat::ReadAgain(
    std::string_view document) const {
  return Compiled(ReadPlan(document, {}));
}

ProgramLibrary::ProgramLibrary(StateStore& store, Committer& committer, PlanAudience audience,
                               std::vector<std::shared_ptr<const ProgramFormat>> formats,
                               bool threads)
    : store_(store),
      committer_(committer),
      audience_(std::move(audience)),
      formats_(std::move(formats)),
      threads_(threads) {
  formats_.push_back(std::make_shared<PlanFormat>(audience_));
  if (threads_) thread_ = std::thread([this] { Loop(); });
}

ProgramLibrary::~ProgramLibrary() {
  {
    const std::lock_guard lock(soon_mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const ProgramFormat* ProgramLibrary::FormatNamed(std::string_view name) const {
  const auto found = std::ranges::find(formats_, name, &ProgramFormat::name);
  return found == formats_.end() ? nullptr : found->get();
}

std::shared_ptr<const CompiledProgram> ProgramLibrary::Known(const ProgramRef& ref) {
  const std::lock_guard lock(mutex_);
  const auto found = by_ref_.find(KeyOf(ref));
  if (found == by_ref_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  EVERSTEP_ASSERT((*found->second)->ref() == ref);
  return *found->second;
}

void ProgramLibrary::Keep(std::shared_ptr<const CompiledProgram> program) {
  const std::lock_guard lock(mutex_);
  const std::string key = KeyOf(program->ref());
  if (by_ref_.contains(key)) return;
  bytes_ += program->bytes();
  order_.push_front(std::move(program));
  by_ref_.emplace(key, order_.begin());
  while (order_.size() > kProgramsKept || (bytes_ > kBytesKept && order_.size() > 1)) {
    EVERSTEP_ASSERT(bytes_ >= order_.back()->bytes());
    bytes_ -= order_.back()->bytes();
    by_ref_.erase(KeyOf(order_.back()->ref()));
    order_.pop_back();
  }
  EVERSTEP_ASSERT(order_.size() == by_ref_.size() && !order_.empty());
}

Result<std::shared_ptr<const CompiledProgram>> ProgramLibrary::Add(std::string_view format,
                                                                   std::string_view document) {
  const ProgramFormat* reader = FormatNamed(format);
  if (reader == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "programs of the format " + std::string(format) + " are not supported",
                 {}};
  }
  const Sha256Digest sha256 = Sha256(document);
  if (auto known = Known({std::string(format), ToHex(sha256)})) return known;
  auto program = reader->Read(document);
  if (!program) return program;
  EVERSTEP_ASSERT((*program)->ref() == (ProgramRef{std::string(format), ToHex(sha256)}));
  const auto stored = store_.Read()->FindPlan(sha256);
  if (!stored) return stored.error();
  if (!*stored) {
    const Status put = committer_.CarryOut(StorePlan{sha256, std::string(document)});
    if (!put) return put.error();
  }
  Keep(*program);
  return program;
}

Result<std::shared_ptr<const CompiledProgram>> ProgramLibrary::Find(const ProgramRef& ref) {
  if (auto known = Known(ref)) return known;
  const ProgramFormat* reader = FormatNamed(ref.format);
  const auto sha256 = DigestFromHex(ref.sha256);
  if (reader == nullptr || !sha256) {
    return Error{ErrorCode::kPlanUnavailable,
                 "there is no program " + ref.sha256 + " of the format " + ref.format,
                 {}};
  }
  const auto stored = store_.Read()->FindPlan(*sha256);
  if (!stored) return stored.error();
  if (!*stored) {
    return Error{ErrorCode::kPlanUnavailable, "the store has no program " + ref.sha256, {}};
  }
  auto program = reader->ReadAgain(**stored);
  if (!program) return program;
  Keep(*program);
  return program;
}

Result<std::shared_ptr<const CompiledProgram>> ProgramLibrary::FindSoon(const ProgramRef& ref) {
  if (!threads_) return Find(ref);
  if (auto known = Known(ref)) return known;
  const std::lock_guard lock(soon_mutex_);
  const auto [found, is_new] = soon_.try_emplace(KeyOf(ref));
  if (is_new) {
    asked_.push_back(ref);
    woken_.notify_one();
  }
  if (!found->second) return std::shared_ptr<const CompiledProgram>();
  Found program = *std::move(found->second);
  soon_.erase(found);
  return program;
}

void ProgramLibrary::Loop() {
  std::unique_lock lock(soon_mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stop_ || !asked_.empty(); });
    if (stop_) return;
    const ProgramRef ref = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    Found program = Find(ref);
    lock.lock();
    soon_[KeyOf(ref)] = std::move(program);
  }
}

}  // namespace everstep
