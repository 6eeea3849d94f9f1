#include "flow/step_ancestors.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace everstep {
namespace {

constexpr std::size_t kDirectMax = 16;  // dependencies that are searched linearly
constexpr std::size_t kWords = 8;
constexpr std::size_t kBatch = kWords * 64;
using Mask = std::array<std::uint64_t, kWords>;

// The steps in topological order: each comes after its dependencies and after the step whose
// fallback it is.
std::vector<StepIndex> Ordered(const Plan& plan) {
  std::vector<std::size_t> waits(plan.steps.size());
  std::vector<StepIndex> order;
  order.reserve(plan.steps.size());
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    waits[i] = step.depends_on.size() + (step.fallback_of == kNoStep ? 0 : 1);
    if (waits[i] == 0) order.push_back(i);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    const PlanStep& step = plan.steps[order[done]];
    for (const StepIndex next : step.dependants) {
      if (--waits[next] == 0) order.push_back(next);
    }
    if (step.fallback != kNoStep && --waits[step.fallback] == 0) order.push_back(step.fallback);
  }
  return order;
}

class Ancestors {
 public:
  explicit Ancestors(const Plan& plan)
      : plan_(plan), order_(Ordered(plan)), position_(plan.steps.size()) {
    for (std::uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  void Answer(std::vector<AncestorQuestion*>& questions) {
    std::sort(questions.begin(), questions.end(), [this](const auto* left, const auto* right) {
      return position_[left->before] < position_[right->before];
    });
    for (std::size_t begin = 0; begin < questions.size();) begin = AnswerBatch(questions, begin);
  }

 private:
  // Propagates one bit for each `before` step of the batch through the order, from the first such
  // step to the last `step`. Returns the start of the next batch.
  std::size_t AnswerBatch(std::vector<AncestorQuestion*>& questions, std::size_t begin) {
    std::vector<std::uint32_t> bits;  // positions
    std::uint32_t last = 0;
    std::size_t end = begin;
    for (; end < questions.size(); ++end) {
      const std::uint32_t before = position_[questions[end]->before];
      if (bits.empty() || bits.back() != before) {
        if (bits.size() == kBatch) break;
        bits.push_back(before);
      }
      last = std::max(last, position_[questions[end]->step]);
    }
    const std::uint32_t first = bits.front();
    if (last < first) return end;
    Carry(bits, last);
    std::size_t bit = 0;
    for (std::size_t i = begin; i < end; ++i) {
      AncestorQuestion& question = *questions[i];
      while (bits[bit] != position_[question.before]) ++bit;
      const std::uint32_t at = position_[question.step];
      question.answer = at > first && ((masks_[at - first][bit / 64] >> (bit % 64)) & 1) != 0;
    }
    return end;
  }

  void Carry(const std::vector<std::uint32_t>& bits, std::uint32_t last) {
    const std::uint32_t first = bits.front();
    masks_.assign(last - first + 1, Mask{});
    const auto take = [&](Mask& mask, StepIndex before) {
      const std::uint32_t at = position_[before];
      if (at < first) return;
      for (std::size_t word = 0; word < kWords; ++word) mask[word] |= masks_[at - first][word];
      const auto found = std::lower_bound(bits.begin(), bits.end(), at);
      if (found == bits.end() || *found != at) return;
      const auto bit = static_cast<std::size_t>(found - bits.begin());
      mask[bit / 64] |= std::uint64_t{1} << (bit % 64);
    };
    for (std::uint32_t at = first; at <= last; ++at) {
      const PlanStep& step = plan_.steps[order_[at]];
      Mask& mask = masks_[at - first];
      for (const StepIndex before : step.depends_on) take(mask, before);
      if (step.fallback_of != kNoStep) take(mask, step.fallback_of);
    }
  }

  const Plan& plan_;
  std::vector<StepIndex> order_;
  std::vector<std::uint32_t> position_;
  std::vector<Mask> masks_;
};

}  // namespace

void AnswerAncestors(const Plan& plan, std::span<AncestorQuestion> questions) {
  std::vector<AncestorQuestion*> open;
  for (AncestorQuestion& question : questions) {
    const PlanStep& step = plan.steps[question.step];
    const auto& direct = step.depends_on;
    question.answer = step.fallback_of == question.before ||
                      (direct.size() <= kDirectMax &&
                       std::find(direct.begin(), direct.end(), question.before) != direct.end());
    if (!question.answer) open.push_back(&question);
  }
  if (!open.empty()) Ancestors(plan).Answer(open);
}

}  // namespace everstep
