#include "bench/workload.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "base/clock.h"
#include "base/environment.h"
#include "event/idempotency_key.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kPlanVersion = "1.2";

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::string Workload::RunName(std::uint64_t number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-0000-4000-8000-%012llx",
                static_cast<unsigned>(number * 2654435761U),
                static_cast<unsigned long long>(number));
  return text;
}

void Workload::Add(const std::string& run_id, std::string_view type, std::string_view step_id,
                   std::string_view payload) {
  const std::string_view instance = step_id.empty() ? std::string_view("RUN") : step_id;
  const auto key =
      IdempotencyKey(KeyVersion::kV1, {run_id, instance, 1, type, "plan_xyz", kPlanVersion});
  std::string event = R"({"eventType":")" + std::string(type) +
                      R"(","emittedAt":"2026-02-12T00:00:00.000Z","runId":")" + run_id +
                      R"(","tenantId":")" + tenant_id_ +
                      R"(","projectId":"proj_marketing",)"
                      R"("environmentId":"prod","planId":"plan_xyz","planVersion":"1.2",)"
                      R"("engineAttemptId":1,"logicalAttemptId":1,"idempotencyKey":")" +
                      ToHex(key) + "\"";
  if (!step_id.empty()) event += R"(,"stepId":")" + std::string(step_id) + "\"";
  if (!payload.empty()) event += R"(,"payload":)" + std::string(payload);
  events_.push_back(event + "}");
}

void Workload::AddRunStart(const std::string& run_id) {
  Add(run_id, "RunStarted", "",
      R"({"engineType":"mock","engineRunRef":"mock://run",)"
      R"("startedAt":"2026-02-12T00:00:00.000Z"})");
}

void Workload::AddStep(const std::string& run_id, const std::string& step_id) {
  Add(run_id, "StepStarted", step_id, "");
  Add(run_id, "StepCompleted", step_id,
      R"({"result":{"rows":4711,"status":"ok"},"durationMs":57})");
}

void Workload::AddWait(const std::string& run_id, const std::string& wait_id) {
  events_.push_back(R"({"eventType":"WaitCreated","runId":")" + run_id + R"(","correlationId":")" +
                    wait_id + R"(","payload":{"dueAt":"2027-01-01T00:00:00.000Z"}})");
}

void Workload::AddMarks(const std::string& run_id, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    events_.push_back(R"({"eventType":"ContextUpdated","runId":")" + run_id +
                      R"(","correlationId":"vars","instanceId":"vars/)" + std::to_string(i) +
                      R"(","payload":{"values":{"i":1}}})");
  }
}

void Workload::AddRun(std::uint64_t number) {
  const std::string run_id = RunName(number);
  AddRunStart(run_id);
  for (int step = 0; step < 10; ++step) AddStep(run_id, "step-" + std::to_string(step));
  Add(run_id, "RunCompleted", "", "");
}

std::vector<std::string_view> Workload::Batch(std::size_t from, std::size_t count) const {
  const std::size_t end = std::min(from + count, events_.size());
  return {events_.begin() + static_cast<std::ptrdiff_t>(from),
          events_.begin() + static_cast<std::ptrdiff_t>(end)};
}

RawWriter::RawWriter()
    : file_(::open((directory_.path() + "/raw").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {
  EVERSTEP_ASSERT(file_);
}

double RawWriter::WriteMicros() {
  const double begin = WallSeconds();
  EVERSTEP_ASSERT(::write(file_.get(), value_.data(), value_.size()) ==
                  static_cast<ssize_t>(value_.size()));
  EVERSTEP_ASSERT(::fdatasync(file_.get()) == 0);
  return (WallSeconds() - begin) * 1e6;
}

double RawWriteMicros() {
  RawWriter writer;
  std::vector<double> micros;
  for (int i = 0; i < 1000; ++i) micros.push_back(writer.WriteMicros());
  return Quantile(micros, 0.5);
}

double CpuSeconds() {
  rusage usage{};
  EVERSTEP_ASSERT(::getrusage(RUSAGE_SELF, &usage) == 0);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ResidentMegabytes() { return static_cast<double>(ResidentBytes()) / 1048576.0; }

double Quantile(std::vector<double> values, double q) {
  EVERSTEP_ASSERT(!values.empty());
  const auto index = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

ScratchDirectory::ScratchDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "everstep-bench-XXXXXX").string();
  EVERSTEP_ASSERT(::mkdtemp(path_.data()) != nullptr);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace everstep::cli
