#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "exit_codes.h"
#include "output.h"

namespace everstep::cli {

// The results of a bench: a table for people, and an array of
// {bench, metric, value, unit, target, ok} for programs. A missed target does not fail the build.
class BenchReport {
 public:
  explicit BenchReport(std::string_view bench) : bench_(bench) {}

  // AtMost and AtLeast add a value with a target; Add adds one without.
  void Add(std::string_view metric, double value, std::string_view unit);
  void AtMost(std::string_view metric, double value, std::string_view unit, double bound);
  void AtLeast(std::string_view metric, double value, std::string_view unit, double bound);

  std::string Table() const;
  // Adds the rows to the array in the file `path`, which is created if missing. Returns false if it
  // cannot be written.
  bool AddToJson(const std::string& path) const;

 private:
  struct Row {
    std::string metric;
    double value;
    std::string unit;
    std::string target;  // empty: none
    bool ok = true;
  };

  std::string bench_;
  std::vector<Row> rows_;
};

// Writes the tables, and the file that --json names, if given.
ExitCode WriteReports(std::span<const BenchReport> reports, const Arguments& arguments,
                      Output& out);

}  // namespace everstep::cli
