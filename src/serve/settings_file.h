#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/engine.h"
#include "everstep/error.h"
#include "serve/setting_value.h"

namespace everstep {

// What `admission.tenants.<tenant>` may hold.
struct TenantSetting {
  std::string_view key;
  SettingShape shape;
  std::string_view meaning;
  SettingTarget (*target)(AdmissionLimit& limit);
};
std::span<const TenantSetting> TenantSettings();

// What a settings file says, before anybody asks whether it holds.
struct SettingsFile {
  struct Given {
    std::vector<std::string> texts;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };
  std::map<std::string, Given, std::less<>> values;  // by the key of the table
  std::map<std::string, AdmissionLimit> tenants;
  std::map<std::string, std::map<std::string, Given>> tenant_values;  // as they were written
  std::map<std::string, Given> webhooks;                              // references, by tenant
};

// Reads YAML or JSON; `keys` are those of the table. What is wrong is added to `faults`: what is
// not known (with what may have been meant), what is there twice, what has another shape.
SettingsFile ReadSettingsFile(std::string_view text, std::span<const std::string_view> keys,
                              std::vector<Fault>& faults);

}  // namespace everstep
