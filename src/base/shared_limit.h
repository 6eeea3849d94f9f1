#pragma once

#include <algorithm>
#include <cstdint>

namespace everstep {

// A limit shared by tenants. No tenant may use more than its share, and all tenants together leave
// a tenth for the operator, who is bound only by the limit itself.
struct SharedLimit {
  static constexpr std::uint32_t kPercent = 50;

  enum class Answer : std::uint8_t {
    kRoom,
    kTenantFull,  // the tenant has used its share
    kFull,        // no room left for tenants or, if the operator asked, none at all
  };

  std::uint64_t max = 0;
  std::uint32_t tenant_percent = kPercent;  // share of one tenant; 100: the limit is not divided

  std::uint64_t tenant_max() const {
    return std::max<std::uint64_t>(1,
                                   max / 100 * tenant_percent + max % 100 * tenant_percent / 100);
  }
  std::uint64_t tenants_max() const { return tenant_percent >= 100 ? max : max - max / 10; }

  // Returns whether `wanted` more fit.
  Answer Ask(std::uint64_t taken, std::uint64_t taken_by_tenant, bool by_operator = false,
             std::uint64_t wanted = 1) const {
    if (taken + wanted > (by_operator ? max : tenants_max())) return Answer::kFull;
    if (!by_operator && taken_by_tenant + wanted > tenant_max()) return Answer::kTenantFull;
    return Answer::kRoom;
  }
};

}  // namespace everstep
