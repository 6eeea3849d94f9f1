#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "exit_codes.h"
#include "output.h"

namespace everstep::cli {

// What a bench measured: a table for people, an array of
// {bench, metric, value, unit, target, ok} for machines. Nothing here fails a build.
class BenchReport {
 public:
  explicit BenchReport(std::string_view bench) : bench_(bench) {}

  // A target is an upper or a lower bound; without one the figure only informs.
  void Add(std::string_view metric, double value, std::string_view unit);
  void AtMost(std::string_view metric, double value, std::string_view unit, double bound);
  void AtLeast(std::string_view metric, double value, std::string_view unit, double bound);

  std::string Table() const;
  // Adds the rows to the array in `path`, which is made when it is not there. False: cannot write.
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

// The tables, and the file that `--json` names, if it does.
ExitCode WriteReports(std::span<const BenchReport> reports, const Arguments& arguments,
                      Output& out);

}  // namespace everstep::cli
