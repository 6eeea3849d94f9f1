// The cost of an event before it reaches the store.

#include <benchmark/benchmark.h>

#include "base/json.h"
#include "event/dialect.h"
#include "event/event_record.h"
#include "event/idempotency_key.h"
#include "machine/machine.h"

namespace everstep {
namespace {

constexpr std::string_view kContract =
    R"({"eventType":"StepCompleted","emittedAt":"2026-02-12T00:00:00.000Z",)"
    R"("runId":"0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a","tenantId":"tenant_acme",)"
    R"("projectId":"proj_marketing","environmentId":"prod","planId":"plan_xyz",)"
    R"("planVersion":"1.2","engineAttemptId":1,"logicalAttemptId":1,"stepId":"model.orders",)"
    R"("payload":{"result":{"rows":4711,"status":"ok"},"durationMs":57}})";
constexpr std::string_view kDevkit =
    R"({"runId":"wrun_1","eventType":"step_completed","correlationId":"step_1",)"
    R"("eventData":{"stepName":"fetch","result":{"rows":4711}}})";
constexpr std::string_view kNoetl =
    R"({"event_id":"e1","event_type":"tool.processed","timestamp":"2026-01-17T23:11:22Z",)"
    R"("execution_id":"x1","entity_type":"tool","entity_id":"http.fetch","status":"success",)"
    R"("duration_ms":312,"payload":{"inputs":{"city":"Seattle"},"output":{"temp_f":51}}})";
constexpr std::string_view kElephant =
    R"({"executionId":"exec-1","county":"Cook","dataGroupLabel":"County","status":"SUCCEEDED",)"
    R"("phase":"Transform","step":"Transform"})";

void ParseAndCheck(benchmark::State& state, Dialect dialect, std::string_view document) {
  for (auto _ : state) {
    auto order = ParseEvent(dialect, document);
    if (!order) state.SkipWithError("the document is not valid");
    benchmark::DoNotOptimize(order);
  }
}
BENCHMARK_CAPTURE(ParseAndCheck, contract, Dialect::kContract, kContract);
BENCHMARK_CAPTURE(ParseAndCheck, devkit, Dialect::kDevkit, kDevkit);
BENCHMARK_CAPTURE(ParseAndCheck, noetl, Dialect::kNoetl, kNoetl);
BENCHMARK_CAPTURE(ParseAndCheck, elephant, Dialect::kElephant, kElephant);

Event Sample() {
  const auto order = ParseEvent(Dialect::kContract, kContract);
  Event event = Resolve({}, {}, order->events.front(), "evnt_1");
  event.seq = EventSeq(12);
  event.persisted_at = event.emitted_at;
  return event;
}

void IdempotencyKeyOf(benchmark::State& state) {
  const Event event = Sample();
  const RunId run_id("0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a");
  const RunScope scope{"tenant_acme", "proj_marketing", "prod", "plan_xyz", "1.2"};
  for (auto _ : state) {
    benchmark::DoNotOptimize(IdempotencyKey(KeyVersion::kV1, run_id, scope, event));
  }
}
BENCHMARK(IdempotencyKeyOf);

void EncodeRecord(benchmark::State& state) {
  const Event event = Sample();
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    EncodeEventRecord(event, bytes);
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(EncodeRecord);

void DecodeRecord(benchmark::State& state) {
  std::string bytes;
  EncodeEventRecord(Sample(), bytes);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeEventRecord(bytes));
}
BENCHMARK(DecodeRecord);

}  // namespace
}  // namespace everstep
