#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace everstep::cli {

// Events as a contract producer sends them: about 420 bytes each, with their idempotency keys.
class Workload {
 public:
  static constexpr std::size_t kEventsPerRun = 22;

  explicit Workload(std::string tenant_id = "tenant_acme") : tenant_id_(std::move(tenant_id)) {}

  // A run of ten steps: start, twenty step events, end.
  void AddRun(std::uint64_t number);
  void AddRunStart(const std::string& run_id);
  void AddStep(const std::string& run_id, const std::string& step_id);  // two events
  void AddWait(const std::string& run_id, const std::string& wait_id);  // one native event

  void AddMarks(const std::string& run_id, std::size_t count);  // native context updates

  std::size_t size() const { return events_.size(); }
  std::vector<std::string_view> Batch(std::size_t from, std::size_t count) const;
  void Clear() { events_.clear(); }

  static std::string RunName(std::uint64_t number);  // in the form of a UUID v4

 private:
  void Add(const std::string& run_id, std::string_view type, std::string_view step_id,
           std::string_view payload);

  const std::string tenant_id_;
  std::vector<std::string> events_;
};

// What this process has used so far; WallSeconds is the time of a steady clock.
double CpuSeconds();
double WallSeconds();
double ResidentMegabytes();

// Returns the q-quantile (0.5: the median) of the values. Requires: there is a value.
double Quantile(std::vector<double> values, double q);

// A new directory in the system's directory for temporary files; removed with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Synced writes of 300 bytes to the end of a file, without any code of Everstep.
class RawWriter {
 public:
  RawWriter();
  double WriteMicros();

 private:
  const ScratchDirectory directory_;
  const UniqueFd file_;
  const std::string value_ = std::string(300, 'x');
};

// Returns the median duration of such a write.
double RawWriteMicros();

}  // namespace everstep::cli
