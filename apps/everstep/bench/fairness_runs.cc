#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json.h"
#include "bench/fairness_bench.h"

namespace everstep::cli {
namespace {

// Ten expressions that each take as many operations as one expression may.
std::string CostlyInputs() {
  std::string inputs = "{";
  for (char name = 'a'; name <= 'j'; ++name) {
    inputs += std::string(1, name) + ": '{{ (range(20000) | sum) + (range(20000) | sum) }}', ";
  }
  return inputs + "}";
}

// Every step of every run occupies a lane for as long as a step can.
Ask StepInputs() {
  std::string plan = "metadata: {planId: costly, planVersion: '1'}\nsteps:\n";
  for (int i = 0; i < 50; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", kind: echo, inputs: " + CostlyInputs() + "}\n";
  }
  return {"POST", "/v1/runs", StartOf(plan)};
}

// A large result that is referenced very often.
Ask LargeResults() {
  std::string plan =
      "metadata: {planId: results, planVersion: '1'}\n"
      "inputs: {text: {type: string}}\nsteps:\n"
      "- {stepId: a, kind: echo, inputs: {list: '{{ range(20000) }}', map: {x: 1}}}\n";
  for (int i = 0; i < 20; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", kind: noop, dependsOn: [a], inputs: {v: [" +
            Repeated("'{{ steps.a.result.map.x }}',", 200) + "]}}\n";
  }
  return {"POST", "/v1/runs", StartOf(plan)};
}

Ask CostlyKey() {
  return {"POST", "/v1/runs",
          StartOf("metadata: {planId: key, planVersion: '1'}\nconcurrencyKey: '" +
                  Repeated("{{ (range(20000) | sum) + (range(20000) | sum) }}", 10) +
                  "'\nsteps: [{stepId: a, kind: noop}]\n")};
}

std::string Named(const std::string& id, const std::string& plan) {
  return R"({"runId":)" + JsonQuote(id) + R"(,"plan":)" + JsonQuote(plan) + "}";
}

std::string Heading(const std::string& plan_id) {
  return "metadata: {planId: " + plan_id + ", planVersion: '1'}\n";
}

// Steps that all wait at the same time.
std::string Waiting(const std::string& plan_id, int steps, const std::string& wait) {
  std::string plan = Heading(plan_id) + "steps:\n";
  for (int i = 0; i < steps; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", dependsOn: [], waitFor: " + wait + "}\n";
  }
  return plan;
}

void AttackWithLargeRuns(FairnessBench& bench) {
  constexpr int kSteps = 20'000;
  bench.Prepare({"POST", "/v1/runs", Named("waits", Waiting("w", kSteps, "{duration: 1h}"))}, 201);
  bench.Measure("views of a large run", {{"GET", "/v1/runs/waits"},
                                         {"GET", "/v1/runs/waits/why"},
                                         {"GET", "/v1/runs/waits/steps/s1"}});
  bench.Prepare({"POST", "/v1/runs", Named("hooks", Waiting("h", kSteps, "{hook: {}}"))}, 201);
  bench.Measure("answers to unknown hooks", {{"POST", "/v1/hooks/none", "{}"}});
  std::string params;
  for (int i = 0; i < 6'000; ++i) params += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  bench.Measure(
      "signals with many parameters",
      {{"POST", "/v1/runs/waits/signals",
        R"({"type":"UPDATE_PARAMS","reason":"r","payload":{"params":{)" + params + "}}}"}});
  // The runs end when their time is over.
  bench.Measure("large runs that end",
                {{"POST", "/v1/runs",
                  StartOf(Heading("e") + "timeout: 200ms\n" +
                          Waiting("e", 5'000, "{hook: {}}").substr(Heading("e").size()))}});
  bench.Measure("waits for the end of large runs",
                {{"POST", "/v1/runs?wait=10s", StartOf(Waiting("f", 1'000, "{duration: 100ms}"))}});
}

// More than the server keeps compiled.
void AttackWithManyPlans(FairnessBench& bench) {
  constexpr int kPlans = 16;
  std::vector<Ask> asks;
  for (int i = 0; i < kPlans; ++i) {
    const std::string name = "large-plan-" + std::to_string(i);
    bench.Prepare({"POST", "/v1/runs", Named(name, Waiting(name, 20'000, "{duration: 1h}"))}, 201);
    asks.push_back({"GET", "/v1/runs/" + name + "/steps/s1"});
  }
  bench.Measure("runs of many large plans", asks);
}

std::string Unquoted(std::string_view text) {
  return text.size() < 2 ? std::string() : std::string(text.substr(1, text.size() - 2));
}

// Returns the path of the polls of a new worker.
std::string Worker(FairnessBench& bench, const std::string& kind) {
  const std::string& answer =
      bench.Prepare({"POST", "/v1/workers", R"({"kinds":[")" + kind + R"("],"slots":1000})"}, 201);
  return "/v1/workers/" + Unquoted(RawMember(answer, "workerId").value_or("")) + "/poll";
}

void AttackWithHeartbeats(FairnessBench& bench) {
  bench.Prepare(
      {"POST", "/v1/runs",
       StartOf(Heading("beats") + "steps: [{stepId: a, kind: beat, heartbeatTimeout: 1h}]\n")},
      201);
  const std::string poll = Worker(bench, "beat");
  const std::string& lent = bench.Prepare({"POST", poll, R"({"max":1,"waitMs":5000})"}, 200);
  const std::size_t at = lent.find("\"token\":");
  EVERSTEP_ASSERT(at != std::string::npos);
  const std::string token = lent.substr(at + 8, 34);
  bench.Measure(
      "heartbeats",
      {{"POST", poll, R"({"max":0,"heartbeats":[)" + token + Repeated("," + token, 999) + "]}"}});
}

void AttackWithWorkers(FairnessBench& bench) {
  AttackWithHeartbeats(bench);
  const std::string train = Worker(bench, "train");
  std::string kinds = "\"k\"";
  for (int i = 1; i < 1'000; ++i) kinds += ",\"k" + std::to_string(i) + "\"";
  for (int i = 0; i < 2'000; ++i) {
    if (bench.Try({"POST", "/v1/workers", R"({"kinds":[)" + kinds + "]}"}) != 201) break;
  }
  bench.Measure("lists of workers", {{"GET", "/v1/workers"}, {"GET", "/v1/queues"}});
  // Last of these, because the tasks stay leased.
  const std::string large = Heading("large") + "steps:\n- {stepId: a, kind: train, inputs: {t: '" +
                            std::string(300'000, 'x') + "'}}\n";
  bench.Measure("tasks with large inputs",
                {{"POST", "/v1/runs", StartOf(large)}, {"POST", train, R"({"max":1000})"}});
}

void AttackWithFollowers(FairnessBench& bench) {
  bench.Prepare({"POST", "/v1/events", R"([{"eventType":"RunStarted","runId":"followed"}])"}, 200);
  constexpr int kFollowers = 500;
  for (int i = 0; i < kFollowers; ++i) {
    if (!bench.Follow("/v1/runs/followed/events")) break;
  }
  std::vector<Ask> asks;
  for (int ask = 0; ask < 2'000; ++ask) {
    std::string events;
    for (int i = 0; i < 20; ++i) {
      events += (i > 0 ? "," : "[") +
                std::string(R"({"eventType":"StepScheduled","runId":"followed","stepId":"s)") +
                std::to_string(ask) + "-" + std::to_string(i) + "\"}";
    }
    asks.push_back({"POST", "/v1/events", events + "]"});
  }
  bench.Measure("followers of a run", asks);
}

}  // namespace

void AttackWithRuns(FairnessBench& bench) {
  bench.Measure("concurrency keys", {CostlyKey()});
  AttackWithWorkers(bench);
  AttackWithFollowers(bench);
  AttackWithLargeRuns(bench);
  AttackWithManyPlans(bench);
  // Last, because these runs continue after the measurement.
  bench.Measure("large results", {LargeResults()});
  bench.Measure("step inputs", {StepInputs()});
}

}  // namespace everstep::cli
