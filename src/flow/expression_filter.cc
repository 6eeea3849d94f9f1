#include "flow/expression_filter.h"

#include <algorithm>
#include <vector>

namespace everstep {
namespace {

// Both vectors are sorted by name and have the same length.
struct Registry {
  std::vector<const ExpressionFilter*> filters;
  std::vector<std::string_view> names;

  Registry() {
    for (const auto group : {TextFilters(), NumberFilters(), ListFilters(), SelectionFilters(),
                             EncodingFilters(), KindFilters()}) {
      for (const ExpressionFilter& filter : group) filters.push_back(&filter);
    }
    std::ranges::sort(filters, {}, &ExpressionFilter::name);
    for (const ExpressionFilter* filter : filters) names.push_back(filter->name);
  }
};

const Registry& AllFilters() {
  static const Registry registry;
  return registry;
}

}  // namespace

const ExpressionFilter* FindFilter(std::string_view name) {
  const Registry& all = AllFilters();
  const auto found = std::ranges::lower_bound(all.names, name);
  if (found == all.names.end() || *found != name) return nullptr;
  return all.filters[static_cast<std::size_t>(found - all.names.begin())];
}

std::span<const std::string_view> FilterNames() { return AllFilters().names; }

}  // namespace everstep
