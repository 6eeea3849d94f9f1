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

// What `admission.tenants.<tenant>` may contain.
struct TenantSetting {
  std::string_view key;
  SettingShape shape;
  std::string_view meaning;
  SettingTarget (*target)(AdmissionLimit& limit);
};
std::span<const TenantSetting> TenantSettings();

// The content of a settings file, before its values are checked.
struct SettingsFile {
  struct Given {
    std::vector<std::string> texts;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };
  std::map<std::string, Given, std::less<>> values;  // by the key of the table
  std::map<std::string, AdmissionLimit> tenants;
  std::map<std::string, std::map<std::string, Given>> tenant_values;  // as written in the file
  std::map<std::string, Given> webhooks;                              // references, by tenant
};

// Parses YAML or JSON; `keys` are those of the table. Adds what is wrong to `faults`: unknown keys
// (with a suggestion), repeated keys, and values of the wrong shape.
SettingsFile ReadSettingsFile(std::string_view text, std::span<const std::string_view> keys,
                              std::vector<Fault>& faults);

}  // namespace everstep
