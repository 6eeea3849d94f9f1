#include <functional>
#include <string>

#include "base/assert.h"
#include "base/cbor.h"
#include "bench/fairness_bench.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kRunIdBytes = 31;

Ask YamlAliases() {
  return {"POST", "/v1/plans/check",
          "a: &a " + std::string(100'000, 'x') + "\nb:\n" + Repeated("- *a\n", 90'000),
          "application/yaml"};
}

Ask LargePlan() {
  std::string plan = "metadata: {planId: large, planVersion: '1'}\nsteps:\n";
  std::string before;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = "s" + std::to_string(i);
    plan += "- {stepId: " + id + ", kind: noop, dependsOn: [" + before + "]}\n";
    before = i < 40 ? before + (before.empty() ? "" : ", ") + id : before;
  }
  return {"POST", "/v1/plans/check", plan, "application/yaml"};
}

std::string CborOf(const std::function<void(CborWriter&)>& write) {
  std::string bytes;
  CborWriter cbor(bytes);
  write(cbor);
  return bytes;
}

Ask CborNulls(bool packed, std::size_t count) {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Key("calls");
    cbor.ArrayOf(count);
    for (std::size_t i = 0; i < count; ++i) cbor.Null();
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor", packed};
}

void WriteCall(CborWriter& cbor, std::string_view type, const std::string& run,
               const std::string& id, const std::function<void()>& data) {
  cbor.BeginMap();
  cbor.Member("m", "events.create");
  cbor.Member("type", type);
  cbor.Member("runId", run);
  if (!id.empty()) cbor.Member("correlationId", id);
  cbor.Key("data");
  cbor.BeginMap();
  data();
  cbor.End();
  cbor.End();
}

// A thousand attr_set calls for one run.
Ask Attributes(const std::string& run) {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Member("spec", std::uint64_t{5});
    cbor.Key("calls");
    cbor.ArrayOf(1'000);
    for (int i = 0; i < 1'000; ++i) {
      WriteCall(cbor, "attr_set", run, "attr-" + std::to_string(i), [&] {
        cbor.Key("changes");
        cbor.ArrayOf(1);
        cbor.BeginMap();
        cbor.Member("key", "k" + std::to_string(i % 60));
        cbor.Member("value", std::to_string(i));
        cbor.End();
      });
    }
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor"};
}

Ask NewRun() {
  const std::string body = CborOf([&](CborWriter& cbor) {
    cbor.BeginMap();
    cbor.Member("spec", std::uint64_t{5});
    cbor.Key("calls");
    cbor.ArrayOf(1);
    WriteCall(cbor, "run_created", "", "", [&] {
      cbor.Member("deploymentId", "d");
      cbor.Member("workflowName", "w");
      cbor.Key("input");
      cbor.Bytes("x");
    });
    cbor.End();
  });
  return {"POST", "/v1/devkit", body, "application/cbor"};
}

// Events with as much text as a batch may have.
Ask LargeEvents() {
  std::string body = "[";
  for (int i = 0; i < 600; ++i) {
    body += (i > 0 ? "," : "") + std::string(R"({"eventType":"RunStarted","runId":"large-)") +
            std::to_string(i) + R"(","payload":{"text":")" + std::string(50'000, 'x') + "\"}}";
  }
  return {"POST", "/v1/events", body + "]"};
}

std::string ManyRuns() {
  std::string body = "[";
  for (int i = 0; i < 9'000; ++i) {
    body += (i > 0 ? "," : "") + std::string(R"({"eventType":"RunStarted","runId":"many-)") +
            std::to_string(i) + "\"}";
  }
  return body + "]";
}

Ask HeavyEvents() {
  std::string body = "[";
  for (int i = 0; i < 100; ++i) {
    body += (i > 0 ? "," : "") +
            std::string(R"({"specversion":"1.0","source":"/s","type":"t","data":{},"id":")") +
            std::to_string(i) + "\"}";
  }
  return {"POST", "/v1/inbound", body + "]", "application/cloudevents-batch+json"};
}

}  // namespace

void AttackWithRequests(FairnessBench& bench) {
  bench.Measure("YAML aliases", {YamlAliases()});
  bench.Measure("large plans", {LargePlan()});
  bench.Measure(
      "packed JSON",
      {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 10'000'000) + "1]}",
        "application/json", true},
       {"POST", "/v1/runs", "{\"plan\":[" + Repeated("{},", 2'700'000), "application/json", true}});
  bench.Measure("dense JSON",
                {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 300'000)},
                 {"POST", "/v1/runs", "{\"inputs\":[" + Repeated("{},", 300'000)}});
  bench.Measure("small dense JSON",
                {{"POST", "/v1/workers/x/poll", R"({"heartbeats":[)" + Repeated("[],", 20'000)}});
  bench.Measure("packed CBOR", {CborNulls(true, 30'000'000)});
  bench.Measure("dense CBOR", {CborNulls(false, 900'000)});
  const std::string& made = bench.Prepare(NewRun(), 200);
  const std::size_t id = made.find("wrun_");
  EVERSTEP_ASSERT(id != std::string::npos);
  const std::string run = made.substr(id, kRunIdBytes);
  bench.Measure("attr_set", {Attributes(run)});
  for (int i = 0; i < 100; ++i) {
    bench.Prepare({"PUT", "/v1/inbound/rules/r" + std::to_string(i),
                   R"({"types":["t"],"when":"range(20000) | sum < 0","deliver":{"token":"x"}})"},
                  201);
  }
  bench.Measure("inbound rules", {HeavyEvents()});
  bench.Measure("large batches",
                {{"POST", "/v1/events", ManyRuns()},
                 {"POST", "/v1/events", "[" + Repeated("1,", 9'000) + "1]"},
                 {"POST", "/v1/events", "[" + Repeated("[[[[]]]],", 3'000'000)},
                 {"POST", "/v1/events", Repeated("\n", 30'000'000), "application/x-ndjson"}});
  bench.Measure("large events", {LargeEvents()});
  bench.Measure("lists", {{"GET", "/v1/runs?limit=1000&errorCode=NONE"},
                          {"GET", "/v1/events?limit=1000"},
                          {"GET", "/v1/runs/" + run + "/events?limit=1000"}});
}

}  // namespace everstep::cli
