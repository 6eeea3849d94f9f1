#include "testing/random_plan.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace everstep {
namespace {

constexpr std::string_view kTools[] = {"noop", "echo",  "http",   "shell",
                                       "http", "shell", "python", "sqlite"};
constexpr int kDepthMax = 2;

class PlanWriter {
 public:
  PlanWriter(SeededRandom& random, PlanOmission omission, int depth)
      : random_(random), omission_(omission), depth_(depth) {}

  std::string Write();

 private:
  enum class Does : std::uint8_t { kTool, kLoop, kWait, kHook, kApproval, kChild };

  std::uint64_t Steps();
  void Metadata();
  void Step(std::uint64_t number);
  void StepBody(const std::string& id, bool is_fallback);
  void Dependencies();
  void Tool(bool looped);
  void Waiting(Does does);
  void Retries();
  void OnFailure(const std::string& id, bool is_fallback);
  void Compensation();
  void Ms(std::string_view key, std::uint64_t from, std::uint64_t to) {
    json_.Member(key, from + random_.Below(to - from));
  }
  bool Percent(std::uint64_t share) { return random_.Below(100) < share; }

  SeededRandom& random_;
  const PlanOmission omission_;
  const int depth_;
  std::string text_;
  JsonWriter json_{text_};
  std::vector<std::string> main_;       // ids of steps that others may depend on
  std::vector<std::string> fallbacks_;  // not written yet
};

std::uint64_t PlanWriter::Steps() {
  if (depth_ > 0) return 1 + random_.Below(3);
  const std::uint64_t draw = random_.Below(10);
  if (draw < 6) return 2 + random_.Below(5);
  return draw < 9 ? 4 + random_.Below(9) : 10 + random_.Below(20);
}

void PlanWriter::Metadata() {
  json_.Key("metadata");
  json_.BeginObject();
  json_.Member("planId", depth_ == 0 ? "random" : "child");
  json_.Member("planVersion", "1");
  if (depth_ == 0 && Percent(6)) json_.Member("requiresApproval", true);
  json_.EndObject();
  json_.RawMember("inputs", R"({"n":{"type":"integer","default":5}})");
  if (depth_ == 0 && Percent(10)) Ms("timeout", 30'000, 600'000);
  if (depth_ == 0 && Percent(10)) {
    json_.Member("concurrencyKey", "run-" + std::to_string(random_.Below(2)));
  }
}

std::string PlanWriter::Write() {
  json_.BeginObject();
  Metadata();
  json_.Key("steps");
  json_.BeginArray();
  const std::uint64_t count = Steps();
  for (std::uint64_t i = 0; i < count; ++i) Step(i);
  json_.EndArray();
  json_.EndObject();
  return text_;
}

void PlanWriter::Step(std::uint64_t number) {
  const std::string id = "s" + std::to_string(number);
  json_.BeginObject();
  json_.Member("stepId", id);
  Dependencies();
  StepBody(id, false);
  json_.EndObject();
  main_.push_back(id);
  while (!fallbacks_.empty()) {
    const std::string fallback = fallbacks_.back();
    fallbacks_.pop_back();
    json_.BeginObject();
    json_.Member("stepId", fallback);
    StepBody(fallback, true);
    json_.EndObject();
  }
}

void PlanWriter::Dependencies() {
  std::vector<std::string> on;
  const std::uint64_t most = std::min<std::uint64_t>(main_.size(), 3);
  const std::uint64_t count = most == 0 ? 0 : random_.Below(most + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t near = std::min<std::uint64_t>(main_.size(), random_.OneIn(4) ? 99 : 4);
    const std::string& id = main_[main_.size() - 1 - random_.Below(near)];
    if (std::ranges::find(on, id) == on.end()) on.push_back(id);
  }
  if (omission_ == PlanOmission::kDependencies && on.size() > 1) on.resize(1);
  json_.Key("dependsOn");
  json_.BeginArray();
  for (const std::string& id : on) json_.String(id);
  json_.EndArray();
  if (!on.empty() && Percent(20)) {
    json_.Member("when", "steps." + on.front() + ".status != 'SKIPPED' and inputs.n > " +
                             std::to_string(random_.Below(8)));
  }
}

void PlanWriter::StepBody(const std::string& id, bool is_fallback) {
  const std::uint64_t draw = random_.Below(100);
  if (draw < 52) {
    Tool(false);
  } else if (draw < 68) {
    json_.Key("foreach");
    json_.BeginObject();
    json_.Key("items");
    json_.BeginArray();
    const std::uint64_t items = random_.Below(6);
    for (std::uint64_t i = 0; i < items; ++i) json_.Uint(i);
    json_.EndArray();
    const std::uint64_t bound = 1 + random_.Below(3);
    json_.Member("maxInFlight", omission_ == PlanOmission::kLoopBounds ? 100 : bound);
    json_.EndObject();
    Tool(true);
  } else if (draw < 78) {
    Waiting(Does::kWait);
  } else if (draw < 86) {
    Waiting(Does::kHook);
  } else if (draw < 90 || depth_ + 1 >= kDepthMax) {
    Waiting(Does::kApproval);
  } else {
    json_.RawMember("plan", PlanWriter(random_, omission_, depth_ + 1).Write());
    if (Percent(30)) Retries();
  }
  OnFailure(id, is_fallback);
}

void PlanWriter::Tool(bool looped) {
  const std::string_view kind = kTools[random_.Below(std::size(kTools))];
  json_.Member("kind", kind);
  json_.Key("inputs");
  json_.BeginObject();
  json_.Member("n", "{{ inputs.n }}");
  if (looped) json_.Member("item", "{{ item }}");
  json_.EndObject();
  if (Percent(25)) Ms("timeout", 1'000, 60'000);
  if (Percent(25)) Ms("heartbeatTimeout", 1'000, 20'000);
  if (Percent(45)) Retries();
  const bool keyed = Percent(20);
  const std::string key = "k" + std::to_string(random_.Below(3));
  if (keyed && omission_ != PlanOmission::kConcurrencyKeys) json_.Member("concurrencyKey", key);
  if (Percent(8)) json_.Member("queue", "q");
  if (Percent(10)) json_.Member("priority", random_.Below(10));
  if (Percent(10)) json_.Member("cancellable", false);
  if (Percent(8)) json_.Member("idempotencyKey", "{{ run.id }}-{{ inputs.n }}");
  if (!looped && Percent(30)) Compensation();
}

void PlanWriter::Waiting(Does does) {
  json_.Key("waitFor");
  json_.BeginObject();
  if (does == Does::kWait) {
    Ms("duration", 1, random_.OneIn(4) ? 600'000 : 5'000);
  } else {
    json_.Key(does == Does::kHook ? "hook" : "approval");
    json_.BeginObject();
    if (Percent(50)) Ms("timeout", 1'000, 100'000);
    if (Percent(20)) json_.Member("token", "token-" + std::to_string(random_.Below(3)));
    json_.EndObject();
  }
  json_.EndObject();
  if (does != Does::kWait && Percent(40)) Retries();
}

void PlanWriter::Retries() {
  constexpr std::string_view kBackoffs[] = {"none", "linear", "exponential"};
  json_.Key("retryPolicy");
  json_.BeginObject();
  const std::uint64_t attempts = 2 + random_.Below(3);
  json_.Member("maxAttempts", omission_ == PlanOmission::kAttemptLimits ? 50 : attempts);
  json_.Member("backoff", kBackoffs[random_.Below(std::size(kBackoffs))]);
  if (Percent(70)) Ms("initialDelay", 1, 5'000);
  if (Percent(20)) json_.RawMember("jitter", "0.5");
  json_.EndObject();
}

void PlanWriter::OnFailure(const std::string& id, bool is_fallback) {
  const std::uint64_t draw = random_.Below(100);
  if (draw < 40) return;
  if (draw < 60) return json_.Member("onFailure", "hold");
  if (draw < 85 || is_fallback) return json_.Member("onFailure", "continue");
  fallbacks_.push_back(id + "-instead");
  json_.RawMember("onFailure", R"({"fallback":")" + fallbacks_.back() + R"("})");
}

void PlanWriter::Compensation() {
  std::string undo;
  JsonWriter json(undo);
  const std::string_view kind = kTools[random_.Below(std::size(kTools))];
  json.BeginObject();
  json.Member("kind", kind);
  json.RawMember("inputs", R"({"undo":true})");
  if (Percent(40)) {
    json.RawMember("retryPolicy", R"({"maxAttempts":3,"backoff":"linear","initialDelay":"1s"})");
  }
  if (Percent(20)) json.RawMember("heartbeatTimeout", R"("5s")");
  if (Percent(15)) json.Member("concurrencyKey", "k" + std::to_string(random_.Below(3)));
  json.EndObject();
  if (omission_ != PlanOmission::kCompensation) json_.RawMember("compensate", undo);
}

}  // namespace

std::string RandomPlan(SeededRandom& random, PlanOmission omission) {
  return PlanWriter(random, omission, 0).Write();
}

}  // namespace everstep
