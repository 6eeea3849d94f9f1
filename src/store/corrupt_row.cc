#include "store/corrupt_row.h"

#include <array>
#include <string>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

std::string Describe(const RowPlace& place) {
  std::string text = "table ";
  text.append(Name(place.table));
  if (!place.run_id.empty()) text.append(", run ").append(place.run_id);
  if (place.run.value() != 0) text.append(", run no ").append(std::to_string(place.run.value()));
  if (place.seq.value() != 0) text.append(", seq ").append(std::to_string(place.seq.value()));
  return text;
}

}  // namespace

std::string_view Name(Table table) {
  constexpr std::array<std::string_view, kTableCount> kNames = {"meta", "runs",     "events",
                                                                "keys", "entities", "index"};
  static_assert(static_cast<std::size_t>(Table::kIndex) + 1 == kNames.size());
  EVERSTEP_ASSERT(static_cast<std::size_t>(table) < kNames.size());
  return kNames[static_cast<std::size_t>(table)];
}

Error CorruptRow(const RowPlace& place, std::string_view what) {
  return {ErrorCode::kStoreCorrupt, Describe(place).append(": ").append(what), {}};
}

Error At(const RowPlace& place, Error error) {
  error.message.insert(0, Describe(place).append(": "));
  return error;
}

}  // namespace everstep
