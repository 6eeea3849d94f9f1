#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "run/admission.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = AdmissionDecision::Verdict;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);

AdmissionLimit AnyLimit() {
  return {.running_max = *rc::gen::inRange(0u, 5u),
          .starts_per_second = *rc::gen::element(0.0, 0.0, 0.5, 3.0),
          .starts_burst = *rc::gen::inRange(0u, 4u),
          .weight = *rc::gen::inRange(0u, 4u)};
}

AdmissionPolicy AnyPolicy() {
  AdmissionPolicy policy;
  policy.overload =
      *rc::gen::element(AdmissionPolicy::Overload::kQueue, AdmissionPolicy::Overload::kDelay,
                        AdmissionPolicy::Overload::kReject);
  policy.engine = AnyLimit();
  policy.tenant = AnyLimit();
  policy.project = AnyLimit();
  policy.key = AnyLimit();
  policy.tenants = {{"a", AnyLimit()}};
  policy.queue_max = *rc::gen::element(3u, 1000u);
  return policy;
}

// Drives Admission and checks each answer against a model of its own.
class Books {
 public:
  explicit Books(const AdmissionPolicy& policy) : policy_(policy), admission_(policy) {}

  void Act() {
    now_ += milliseconds(*rc::gen::element(0, 1, 100, 700));
    if (*rc::gen::inRange(0, 40) == 0) now_ -= seconds(*rc::gen::element(1, 60));
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
      case 2:
        return Request();
      case 3:
        return Next(*rc::gen::inRange<std::size_t>(0, 5));
      case 4:
        return Settle();
      case 5:
        return End();
      case 6:
        return Forget();
      default:
        return Expire();
    }
  }

  // Ends runs and advances time until nothing is left.
  void Finish() {
    for (int rounds = 0; admission_.pending() + admission_.leased() + admission_.running() > 0;
         ++rounds) {
      RC_ASSERT(rounds < 10'000);
      Next(3);
      while (!leased_.empty()) {
        RC_ASSERT(
            admission_.Confirm(leased_.begin()->second.run.run_id, leased_.begin()->second.epoch));
        Move(leased_, running_, std::string(leased_.begin()->first));
      }
      if (!running_.empty()) {
        RC_ASSERT(admission_.Ended(running_.begin()->second.run.run_id));
        running_.erase(running_.begin());
        continue;
      }
      const auto wake = admission_.NextWake(now_);
      RC_ASSERT(wake.has_value() || admission_.pending() == 0);
      if (wake) now_ = std::max(now_, *wake);
    }
    RC_ASSERT(pending_.empty());
    now_ += std::chrono::hours(24);
    Next(1);
    RC_ASSERT(admission_.scopes_known() == 0u);
  }

  void Check() const {
    RC_ASSERT(admission_.pending() == pending_.size());
    RC_ASSERT(admission_.leased() == leased_.size());
    RC_ASSERT(admission_.running() == running_.size());
    std::map<std::string, std::uint32_t> used;
    for (const auto* const books : {&leased_, &running_}) {
      for (const auto& [id, held] : *books) {
        ++used["engine"];
        ++used["tenant " + held.run.tenant];
        ++used["project " + held.run.tenant + " " + held.run.project];
        if (!held.run.key.empty()) ++used["key " + held.run.tenant + " " + held.run.key];
      }
    }
    for (const auto& [name, count] : used) {
      const std::uint32_t max = MaxOf(name);
      RC_ASSERT(max == 0 || count <= max);
    }
  }

 private:
  struct Held {
    AdmissionRun run;
    LeaseEpoch epoch;
  };
  using Book = std::map<std::string, Held>;

  std::uint32_t MaxOf(const std::string& name) const {
    if (name == "engine") return policy_.engine.running_max;
    if (name == "tenant a") return policy_.tenants.front().second.running_max;
    if (name.starts_with("tenant")) return policy_.tenant.running_max;
    if (name.starts_with("project")) return policy_.project.running_max;
    return std::max(1u, policy_.key.running_max);
  }

  static Book::iterator Any(Book& book) {
    return std::next(book.begin(), *rc::gen::inRange<int>(0, static_cast<int>(book.size())));
  }

  void Move(Book& from, Book& to, const std::string& id) {
    auto node = from.extract(id);
    RC_ASSERT(!node.empty());
    to.insert(std::move(node));
  }

  void Request() {
    const AdmissionRun run = {.run_id = RunId("run-" + std::to_string(++made_)),
                              .tenant = *rc::gen::element<std::string>("a", "b", "c"),
                              .project = *rc::gen::element<std::string>("p", "q"),
                              .key = *rc::gen::element<std::string>("", "", "k", "l"),
                              .priority = *rc::gen::inRange(-2, 3),
                              .start_at = now_ + seconds(*rc::gen::element(0, 0, 0, 2))};
    const auto decision = admission_.Request(run, now_);
    if (decision.verdict == Verdict::kReject) {
      RC_ASSERT(!admission_.Knows(run.run_id));
      RC_ASSERT(decision.retry_after > milliseconds(0));
      RC_ASSERT(!decision.block.message.empty());
      return;
    }
    Book& book = decision.verdict == Verdict::kStart ? leased_ : pending_;
    book[run.run_id.value()] = {run, decision.epoch};
    RC_ASSERT((decision.position > 0) == (decision.verdict == Verdict::kQueue));
  }

  void Next(std::size_t runs_max) {
    const auto leases = admission_.Next(now_, runs_max);
    RC_ASSERT(leases.size() <= runs_max);
    for (const RunLease& lease : leases) {
      Move(pending_, leased_, lease.run_id.value());
      Held& held = leased_.at(lease.run_id.value());
      RC_ASSERT(lease.epoch > held.epoch);
      held.epoch = lease.epoch;
    }
  }

  void Settle() {
    if (leased_.empty()) return;
    const auto [id, held] = *Any(leased_);
    const LeaseEpoch stale(held.epoch.value() - 1);
    RC_ASSERT(!admission_.Confirm(held.run.run_id, stale));
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        RC_ASSERT(admission_.Release(held.run.run_id, held.epoch,
                                     Admission::StartFailure::kTransient,
                                     now_ + seconds(*rc::gen::element(-1, 0, 2))));
        return Move(leased_, pending_, id);
      case 1:
        RC_ASSERT(
            admission_.Release(held.run.run_id, held.epoch, Admission::StartFailure::kPermanent));
        leased_.erase(id);
        return;
      default:
        RC_ASSERT(admission_.Confirm(held.run.run_id, held.epoch));
        Move(leased_, running_, id);
    }
  }

  void End() {
    if (running_.empty()) return;
    const auto found = Any(running_);
    RC_ASSERT(admission_.Ended(found->second.run.run_id));
    running_.erase(found);
  }

  void Forget() {
    if (pending_.empty()) return;
    const auto found = Any(pending_);
    RC_ASSERT(admission_.Why(found->second.run.run_id, now_).has_value());
    RC_ASSERT(admission_.Forget(found->second.run.run_id));
    pending_.erase(found);
  }

  void Expire() {
    for (const RunId& run_id : admission_.ExpireLeases(now_, seconds(2))) {
      Move(leased_, pending_, run_id.value());
    }
  }

  const AdmissionPolicy policy_;
  Admission admission_;
  Timestamp now_ = kStart;
  int made_ = 0;
  Book pending_;
  Book leased_;
  Book running_;
};

RC_GTEST_PROP(AdmissionPropertyTest, LimitsHoldAndNothingIsLostOrStartedTwice, ()) {
  Books books(AnyPolicy());
  const int acts = *rc::gen::inRange(1, 150);
  for (int i = 0; i < acts; ++i) {
    books.Act();
    books.Check();
  }
  books.Finish();
}

}  // namespace
}  // namespace everstep
