#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/plan_faults.h"

namespace everstep {

// Reads the members of one map of a plan into fields. A missing member leaves its field unchanged.
// An invalid member adds a fault and leaves its field unchanged. `place` must outlive the reader
// and the places that the reader returns.
class MapReader {
 public:
  // Adds a fault if the node is not a map, and for each member that is not in `fields`.
  MapReader(const Place& place, std::span<const std::string_view> fields, PlanFaults& faults);

  const Place& place() const { return place_; }
  PlanFaults& faults() const { return faults_; }

  bool Has(std::string_view key) const { return place_.node->Find(key) != nullptr; }
  std::optional<Place> Find(std::string_view key) const;
  // Like `Find`, but adds a fault if the member is missing. `why` explains what it is for.
  std::optional<Place> Require(std::string_view key, std::string_view why) const;

  bool Text(std::string_view key, std::string& field) const;  // false: missing or invalid
  bool Name(std::string_view key, std::string& field) const;  // event/identifier.h
  void Flag(std::string_view key, bool& field) const;
  void Texts(std::string_view key, std::vector<std::string>& field) const;
  bool Duration(std::string_view key, std::optional<Milliseconds>& field) const;  // above zero
  void Integer(std::string_view key, std::int64_t min, std::int64_t max, std::int64_t& field) const;
  // Requires the value to be one of `words` and stores its index.
  void Word(std::string_view key, std::span<const std::string_view> words,
            std::size_t& field) const;

 private:
  const Place& place_;
  PlanFaults& faults_;
};

// Adds the fault for a wrong type, such as "'x' must be a list, not text".
void FaultKind(const Place& place, std::string_view wanted, PlanFaults& faults);

// Reads a duration, given as text or as a number of milliseconds. Returns nullopt after a fault.
std::optional<Milliseconds> ReadDuration(const Place& place, PlanFaults& faults);

}  // namespace everstep
