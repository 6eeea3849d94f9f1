#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace everstep::cli {
namespace {

// Formats about three significant digits; a shared machine measures no more precisely.
std::string Rounded(double value) {
  char text[64];
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace

void BenchReport::Add(std::string_view metric, double value, std::string_view unit) {
  rows_.push_back({std::string(metric), value, std::string(unit), "", true});
}

void BenchReport::AtMost(std::string_view metric, double value, std::string_view unit,
                         double bound) {
  rows_.push_back(
      {std::string(metric), value, std::string(unit), "<= " + Rounded(bound), value <= bound});
}

void BenchReport::AtLeast(std::string_view metric, double value, std::string_view unit,
                          double bound) {
  rows_.push_back(
      {std::string(metric), value, std::string(unit), ">= " + Rounded(bound), value >= bound});
}

std::string BenchReport::Table() const {
  std::size_t width = 0;
  for (const Row& row : rows_) width = std::max(width, row.metric.size());
  std::string table = "\n" + bench_ + "\n";
  for (const Row& row : rows_) {
    const std::string value = Rounded(row.value);
    table += "  " + row.metric + std::string(width - row.metric.size() + 2, ' ') +
             std::string(value.size() < 10 ? 10 - value.size() : 0, ' ') + value + " " + row.unit;
    if (!row.target.empty()) table += "  (" + row.target + (row.ok ? ": ok)" : ": MISSED)");
    table += "\n";
  }
  return table;
}

bool BenchReport::AddToJson(const std::string& path) const {
  std::string all;
  if (std::ifstream existing(path); existing) {
    std::stringstream text;
    text << existing.rdbuf();
    all = text.str();
    all.erase(std::min(all.find_last_of(']'), all.size()));
    while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) all.pop_back();
  }
  if (all.empty()) all = "[";
  for (const Row& row : rows_) {
    all += all.size() > 1 ? ",\n" : "\n";
    JsonWriter json(all);
    json.BeginObject();
    json.Member("bench", bench_);
    json.Member("metric", row.metric);
    json.Key("value");
    json.Double(row.value);
    json.Member("unit", row.unit);
    json.Key("target");
    row.target.empty() ? json.Null() : json.String(row.target);
    json.Member("ok", row.ok);
    json.EndObject();
  }
  all += "\n]\n";
  std::ofstream out(path, std::ios::trunc);
  out << all;
  return static_cast<bool>(out.flush());
}

ExitCode WriteReports(std::span<const BenchReport> reports, const Arguments& arguments,
                      Output& out) {
  const std::string& file = arguments.Text("json");
  for (const BenchReport& report : reports) {
    out.Write(report.Table());
    if (!file.empty() && !report.AddToJson(file)) {
      std::fprintf(stderr, "everstep: cannot write %s\n", file.c_str());
      return ExitCode::kUsage;
    }
  }
  return ExitCode::kOk;
}

}  // namespace everstep::cli
