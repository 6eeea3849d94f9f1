#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/plan_faults.h"

namespace everstep {

// Reads the members of one map of a plan into fields. A member that is not there leaves its field
// as it was, and so does one that is wrong, after the fault. `place` must outlive the reader and
// the places it gives out.
class MapReader {
 public:
  // Faults a node that is no map, and members that are not among `fields`.
  MapReader(const Place& place, std::span<const std::string_view> fields, PlanFaults& faults);

  const Place& place() const { return place_; }
  PlanFaults& faults() const { return faults_; }

  bool Has(std::string_view key) const { return place_.node->Find(key) != nullptr; }
  std::optional<Place> Find(std::string_view key) const;
  // As `Find`, and a fault when it is not there.
  std::optional<Place> Require(std::string_view key, std::string_view why) const;

  bool Text(std::string_view key, std::string& field) const;  // false: missing or wrong
  bool Name(std::string_view key, std::string& field) const;  // event/identifier.h
  void Flag(std::string_view key, bool& field) const;
  void Texts(std::string_view key, std::vector<std::string>& field) const;
  bool Duration(std::string_view key, std::optional<Milliseconds>& field) const;  // above zero
  void Integer(std::string_view key, std::int64_t min, std::int64_t max, std::int64_t& field) const;
  // One of the words; its index.
  void Word(std::string_view key, std::span<const std::string_view> words,
            std::size_t& field) const;

 private:
  const Place& place_;
  PlanFaults& faults_;
};

// "'x' must be a list, not text": the fault of a wrong type.
void FaultKind(const Place& place, std::string_view wanted, PlanFaults& faults);

// A duration that is a text or a number of milliseconds; nothing after a fault.
std::optional<Milliseconds> ReadDuration(const Place& place, PlanFaults& faults);

}  // namespace everstep
