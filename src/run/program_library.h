#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/committer.h"
#include "flow/plan.h"
#include "run/program.h"
#include "store/state_store.h"

namespace everstep {

// Reads the programs of one format.
class ProgramFormat {
 public:
  virtual ~ProgramFormat() = default;
  virtual std::string_view name() const = 0;
  // A new program: what it asks for has to be there. All faults at once.
  virtual Result<std::shared_ptr<const CompiledProgram>> Read(std::string_view document) const = 0;
  // One that was accepted before. A tool that is missing now matters to the steps that need it.
  virtual Result<std::shared_ptr<const CompiledProgram>> ReadAgain(
      std::string_view document) const = 0;
};

// Plans in YAML or JSON.
class PlanFormat final : public ProgramFormat {
 public:
  explicit PlanFormat(PlanAudience audience) : audience_(std::move(audience)) {}
  std::string_view name() const override { return kPlanFormat; }
  Result<std::shared_ptr<const CompiledProgram>> Read(std::string_view document) const override;
  Result<std::shared_ptr<const CompiledProgram>> ReadAgain(
      std::string_view document) const override;

 private:
  const PlanAudience audience_;
};

// The programs of a store, by format and the SHA-256 of their documents; recently used ones are
// kept compiled. Thread-safe.
class ProgramLibrary {
 public:
  static constexpr std::size_t kProgramsKept = 256;
  static constexpr std::uint64_t kBytesKept = 256 << 20;

  // Reads plans, and programs of `formats`. With `threads`, FindSoon has a thread of its own.
  ProgramLibrary(StateStore& store, Committer& committer, PlanAudience audience,
                 std::vector<std::shared_ptr<const ProgramFormat>> formats = {},
                 bool threads = false);
  ~ProgramLibrary();

  // Reads, checks and keeps a program. On return it is durable. Faults as ProgramFormat::Read;
  // kInvalidArgument: nobody reads this format.
  Result<std::shared_ptr<const CompiledProgram>> Add(std::string_view format,
                                                     std::string_view document);
  // The program if it is compiled, without looking into the store; null: it is not.
  std::shared_ptr<const CompiledProgram> Known(const ProgramRef& ref);
  // kPlanUnavailable: the store does not have it, or nobody reads its format.
  Result<std::shared_ptr<const CompiledProgram>> Find(const ProgramRef& ref);
  // For callers that must not wait until a large program is compiled: null if that is under way;
  // ask again.
  Result<std::shared_ptr<const CompiledProgram>> FindSoon(const ProgramRef& ref);
  // What Add checks plans for.
  const PlanAudience& audience() const { return audience_; }

 private:
  using Order = std::list<std::shared_ptr<const CompiledProgram>>;  // most recently used first
  using Found = Result<std::shared_ptr<const CompiledProgram>>;

  void Loop();
  void Keep(std::shared_ptr<const CompiledProgram> program);
  const ProgramFormat* FormatNamed(std::string_view name) const;

  StateStore& store_;
  Committer& committer_;
  const PlanAudience audience_;
  std::vector<std::shared_ptr<const ProgramFormat>> formats_;
  std::mutex mutex_;
  Order order_;              // guarded by mutex_, like the next two
  std::uint64_t bytes_ = 0;  // of the programs in order_
  std::unordered_map<std::string, Order::iterator> by_ref_;

  const bool threads_;
  std::mutex soon_mutex_;
  std::condition_variable woken_;
  std::deque<ProgramRef> asked_;  // guarded by soon_mutex_, like the next two
  std::unordered_map<std::string, std::optional<Found>> soon_;  // nothing: not found yet
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
