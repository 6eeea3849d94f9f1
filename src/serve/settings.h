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

// Everything that an operator can configure. Initialized with the defaults of a server.
struct ServeSettings {
  ServeSettings();

  ServerOptions server;
  bool dev = false;
  std::chrono::milliseconds drain_timeout{20'000};
  std::string log_format = "auto";
  std::string log_level = "info";
  std::chrono::milliseconds slow_request{1'000};
  std::string overload = "queue";  // of server.engine.admission
  std::vector<std::string> tools;  // in addition to the harmless ones
  std::vector<std::string> sink_files;
  // How much of shared limits one tenant may use.
  std::uint32_t tenant_share = SharedLimit::kPercent;
  std::map<std::string, std::vector<std::string>> webhooks;  // references, per tenant
};

struct Setting {
  std::string_view key;   // "tls.certificate": member `certificate` of the map `tls`
  std::string_view flag;  // of `everstep serve`, without the dashes; empty if there is none
  SettingShape shape = SettingShape::kText;
  std::string_view meaning;
  SettingTarget (*target)(ServeSettings& settings) = nullptr;
  std::span<const std::string_view> words = {};  // for kWord, and the allowed items of a kList
  std::uint64_t min = 0;
  std::uint64_t max = 0;  // zero: the default of the shape
};

// The single table of settings; file, environment, flags, help and documentation are derived from
// it. In addition there are maps whose keys are chosen by the operator: `admission.tenants` and
// `webhooks`.
std::span<const Setting> SettingTable();

// "EVERSTEP_TLS_CERTIFICATE".
std::string VariableOf(std::string_view key);

struct SettingSources {
  std::string file;  // its path; empty if there is none
  std::string text;  // its content
  // Empty: the environment is ignored.
  std::function<std::optional<std::string>(std::string_view variable)> environment;
  // As given on the command line.
  std::vector<std::pair<std::string, std::vector<std::string>>> flags;
  std::vector<std::string> variables{};  // all environment variables beginning with EVERSTEP_
};

// An effective value and where it was set. Secrets are shown as references, never resolved.
struct SettingValue {
  std::string key;
  std::string text;
  std::string source;  // "default", "everstep.yaml:3:5", "EVERSTEP_LISTEN", "--listen"
};
struct LoadedSettings {
  ServeSettings settings;
  std::vector<SettingValue> values;  // in the order of the table
  // Variables beginning with EVERSTEP_ that no part of Everstep knows.
  std::vector<std::string> strange_variables;
};

// Flags take precedence over the environment, the environment over the file, the file over the
// defaults. `server` is complete except for the data directory; CheckServable decides whether it
// can be served. Returns kInvalidArgument with every fault: those of the file with line and column,
// and also variables whose names look like misspelled settings. Reads the files that hold webhook
// secrets.
Result<LoadedSettings> LoadSettings(const SettingSources& sources);

// The table in the form used in docs/configuration.md.
std::string SettingsMarkdown();

}  // namespace everstep
