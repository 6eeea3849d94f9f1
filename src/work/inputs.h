#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "flow/plan.h"

namespace everstep {

// Reads the inputs of a tool and collects all their faults, so that one BAD_INPUT reports them
// together. A null member counts as missing. Not thread-safe.
class Inputs {
 public:
  explicit Inputs(const Value& map);

  bool Has(std::string_view name) const;
  Value Get(std::string_view name) const;  // undefined if missing

  std::optional<std::string> Text(std::string_view name);
  std::string Text(std::string_view name, std::string otherwise);
  bool Bool(std::string_view name, bool otherwise);
  std::int64_t Int(std::string_view name, std::int64_t otherwise, std::int64_t min,
                   std::int64_t max);
  std::optional<Milliseconds> Duration(std::string_view name);
  // Reads a list of text values. Numbers and booleans become text.
  std::vector<std::string> Texts(std::string_view name);
  // Reads a map of text values. Numbers and booleans become text, nulls are left out, and a list
  // gives one pair for each of its items.
  std::vector<std::pair<std::string, std::string>> Pairs(std::string_view name);
  std::vector<std::int64_t> Ints(std::string_view name);

  // Adds a fault for each member that is not in `names`.
  void AllowOnly(std::initializer_list<std::string_view> names);
  void Fault(std::string_view name, std::string_view what);
  bool ok() const { return faults_.empty(); }
  const std::string& faults() const { return faults_; }

 private:
  ValueMap members_;
  std::string faults_;
};

}  // namespace everstep
