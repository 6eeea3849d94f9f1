#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "look.h"
#include "native_event.h"

namespace everstep::cli {

// A Gantt chart of a run: a bar for each step over the time axis, with separate attempts and
// hatched waits. Events must be added in the order of the log. Not thread-safe.
class Gantt {
 public:
  // `items`: each iteration of a loop has its own row.
  explicit Gantt(bool items) : items_(items) {}

  void Add(const NativeEvent& event);

  // Draws at most `rows_max` steps and counts the rest. Open bars last until `now`.
  std::string Text(SystemTime now, std::size_t rows_max, const Look& look) const;

 private:
  enum class Kind : std::uint8_t { kQueued, kRuns, kSucceeded, kFailed, kWaits };
  struct Bar {
    Kind kind;
    SystemTime from;
    SystemTime to;
    bool open = true;
    bool attempt = false;  // starts an attempt after the first
  };
  struct Row {
    std::string name;
    std::string status;
    std::uint64_t attempts = 0;
    std::vector<Bar> bars;
  };
  struct Scale {
    SystemTime begin;
    SystemTime end;
    std::size_t columns;
    std::size_t ColumnOf(SystemTime time) const;
  };

  Row& RowOf(std::string_view name);
  void AddRun(const NativeEvent& event);
  void AddStep(const NativeEvent& event);
  void AddWait(const NativeEvent& event);
  static void Open(Row& row, Kind kind, SystemTime at);
  static void Close(Row& row, Kind open_kind, Kind closed_as, SystemTime at);
  std::string Line(const Row& row, const Scale& scale, std::size_t names, const Look& look) const;
  static std::string Axis(const Scale& scale, std::size_t names, const Look& look);

  const bool items_;
  bool ended_ = false;
  SystemTime begin_{};
  SystemTime last_{};
  std::vector<Row> rows_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace everstep::cli
