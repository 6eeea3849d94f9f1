#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_limit.h"
#include "everstep/result.h"
#include "serve/server.h"
#include "serve/setting_value.h"

namespace everstep {

// All that an operator can set. A fresh one has the defaults of a server.
struct ServeSettings {
  ServeSettings();

  ServerOptions server;
  bool dev = false;
  std::chrono::milliseconds drain_timeout{20'000};
  std::string log_format = "auto";
  std::string log_level = "info";
  std::chrono::milliseconds slow_request{1'000};
  std::string overload = "queue";  // of server.engine.admission
  std::vector<std::string> tools;  // beside the harmless ones
  std::vector<std::string> sink_files;
  std::uint32_t tenant_share = SharedLimit::kPercent;        // percent of limits that tenants share
  std::map<std::string, std::vector<std::string>> webhooks;  // references, per tenant
};

struct Setting {
  std::string_view key;   // "tls.certificate": member `certificate` of the map `tls`
  std::string_view flag;  // of `everstep serve`, without the dashes; empty: none
  SettingShape shape = SettingShape::kText;
  std::string_view meaning;
  SettingTarget (*target)(ServeSettings& settings) = nullptr;
  std::span<const std::string_view> words = {};  // kWord, and what a kList may hold
  std::uint64_t min = 0;
  std::uint64_t max = 0;  // zero: more than anybody needs
};

// The one table of settings: file, environment, flags, help and documents follow from it. Beside
// it there are maps whose members an operator names: `admission.tenants` and `webhooks`.
std::span<const Setting> SettingTable();

// "EVERSTEP_TLS_CERTIFICATE".
std::string VariableOf(std::string_view key);

struct SettingSources {
  std::string file;  // its path; empty: none
  std::string text;  // what is in it
  // May be empty: no environment.
  std::function<std::optional<std::string>(std::string_view variable)> environment;
  std::vector<std::pair<std::string, std::vector<std::string>>> flags;  // as given
  std::vector<std::string> variables{};  // of the environment, the names that begin with EVERSTEP_
};

// What holds, and who said so. Secrets are shown as references, never as what they refer to.
struct SettingValue {
  std::string key;
  std::string text;
  std::string source;  // "default", "everstep.yaml:3:5", "EVERSTEP_LISTEN", "--listen"
};
struct LoadedSettings {
  ServeSettings settings;
  std::vector<SettingValue> values;  // in the order of the table
  // Variables that begin with EVERSTEP_ and mean nothing to any part of Everstep.
  std::vector<std::string> strange_variables;
};

// A flag goes before the environment, the environment before the file, the file before the default.
// `server` is complete but for the data folder; whether it can be served, CheckServable says.
// kInvalidArgument with every fault, also of a variable that is close to one that there is; those
// of the file with line and column. Reads the files that hold webhook secrets.
Result<LoadedSettings> LoadSettings(const SettingSources& sources);

// The table as docs/configuration.md shows it.
std::string SettingsMarkdown();

}  // namespace everstep
