#include "serve/settings.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "flow/nearest.h"
#include "serve/private_file.h"
#include "serve/settings_file.h"
#include "work/secret_variables.h"

namespace everstep {
namespace {

// Tools that cannot affect the machine; http is restricted by the address policy.
constexpr std::string_view kHarmlessTools[] = {"noop", "echo", "merge", "sleep", "http"};
constexpr std::size_t kSecretBytesMax = 4 << 10;
constexpr std::size_t kSinkBytesMax = 64 << 10;

// Variables that are not settings: those of the program's other commands, of step processes, of
// SDKs, and of the tools that build and test Everstep.
constexpr std::string_view kPrefix = "EVERSTEP_";
constexpr std::string_view kOtherVariables[] = {
    "EVERSTEP_DATA",
    "EVERSTEP_CONFIG",
    "EVERSTEP_STORE",
    "EVERSTEP_SERVER",
    "EVERSTEP_TOKEN",
    "EVERSTEP_TOKEN_FILE",
    "EVERSTEP_CA_FILE",
    "EVERSTEP_RUN_ID",
    "EVERSTEP_STEP_ID",
    "EVERSTEP_ATTEMPT",
    "EVERSTEP_IDEMPOTENCY_KEY",
    "EVERSTEP_URL",
    "EVERSTEP_APP_URL",
    "EVERSTEP_CONCURRENCY",
    "EVERSTEP_DEPLOYMENT_ID",
    "EVERSTEP_DELIVERY_SECRET",
    "EVERSTEP_ENCRYPTION_SECRET",
    "EVERSTEP_SKIP_SETUP",
    "EVERSTEP_CHAOS_SEED",
    "EVERSTEP_CHAOS_SECONDS",
    "EVERSTEP_CHAOS_RUNTIMES",
};

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> Keys() {
  std::vector<std::string_view> keys;
  for (const Setting& setting : SettingTable()) keys.push_back(setting.key);
  return keys;
}

class Loading {
 public:
  explicit Loading(const SettingSources& sources)
      : sources_(sources), file_(ReadSettingsFile(sources.text, Keys(), faults_)) {}

  Result<LoadedSettings> Load() {
    for (const Setting& setting : SettingTable()) Take(setting);
    TakeTenants();
    TakeWebhooks();
    TakeSinks();
    CheckSecretVariables();
    CheckVariables();
    Complete();
    if (faults_.empty()) return std::move(loaded_);
    std::string message = "invalid settings";
    return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(faults_)};
  }

 private:
  std::string PlaceOf(const SettingsFile::Given& given) const {
    return sources_.file + ":" + std::to_string(given.line) + ":" + std::to_string(given.column);
  }

  void Take(const Setting& setting) {
    const SettingTarget target = setting.target(loaded_.settings);
    std::string source = "default";
    const auto set = [&](std::span<const std::string> texts, std::string from) {
      const SettingRule rule{setting.shape, setting.words, setting.min, setting.max};
      source = std::move(from);
      return SetValue(rule, texts, target);
    };
    if (const auto flag = std::ranges::find(
            sources_.flags, setting.flag, [](const auto& f) { return std::string_view(f.first); });
        !setting.flag.empty() && flag != sources_.flags.end()) {
      const std::string name = "--" + flag->first;
      const std::string wrong = set(flag->second, name);
      if (!wrong.empty()) faults_.push_back({name, name + " " + wrong});
    } else if (const auto given = Variable(VariableOf(setting.key))) {
      const std::string name = VariableOf(setting.key);
      const bool list = IsList(setting.shape);
      const std::string wrong = set(list ? SplitAtCommas(*given) : std::vector{*given}, name);
      if (!wrong.empty()) faults_.push_back({name, name + " " + wrong});
    } else if (const auto found = file_.values.find(setting.key); found != file_.values.end()) {
      std::vector<std::string> texts = found->second.texts;
      if (setting.shape == SettingShape::kFile || setting.shape == SettingShape::kFiles) {
        for (std::string& path : texts) path = Beside(path);
      }
      const std::string wrong = set(texts, PlaceOf(found->second));
      if (!wrong.empty()) {
        faults_.push_back({"", "'" + std::string(setting.key) + "' " + wrong, found->second.line,
                           found->second.column});
      }
    }
    loaded_.values.push_back(
        {std::string(setting.key), ValueText(setting.shape, target), std::move(source)});
  }

  // A variable set to the empty string counts as unset.
  std::optional<std::string> Variable(const std::string& name) const {
    if (!sources_.environment) return std::nullopt;
    auto value = sources_.environment(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  std::string Beside(const std::string& path) const {
    const std::filesystem::path folder = std::filesystem::path(sources_.file).parent_path();
    return path.empty() ? path : (folder / path).string();
  }

  void TakeTenants() {
    auto& tenants = loaded_.settings.server.engine.admission.tenants;
    tenants.assign(file_.tenants.begin(), file_.tenants.end());
    for (const auto& [path, values] : file_.tenant_values) {
      for (const auto& [key, given] : values) {
        loaded_.values.push_back({key, given.texts.front(), PlaceOf(given)});
      }
    }
  }

  void TakeWebhooks() {
    for (const auto& [tenant, given] : file_.webhooks) {
      auto& secrets = loaded_.settings.server.api.webhook_secrets[tenant];
      std::string shown;
      for (const std::string& reference : given.texts) {
        shown.append(shown.empty() ? "" : ",").append(reference);
        std::string wrong;
        if (auto secret = ReadSecret(reference, wrong)) {
          secrets.push_back(*std::move(secret));
        } else {
          faults_.push_back({"", "'webhooks." + tenant + "': " + wrong, given.line, given.column});
        }
      }
      loaded_.settings.webhooks[tenant] = given.texts;
      loaded_.values.push_back({"webhooks." + tenant, shown, PlaceOf(given)});
    }
  }

  void CheckSecretVariables() {
    const auto read = SecretVariables::Parse(loaded_.settings.server.engine.tools.secret_variables);
    if (read) return;
    for (const Fault& fault : read.error().faults) {
      faults_.push_back({"", "'secrets.env': " + fault.message});
    }
  }

  // A variable that is misspelled by a letter or two is a fault. Others are only reported, because
  // a service named `everstep` puts EVERSTEP_SERVICE_HOST into the environment of every pod.
  void CheckVariables() {
    std::vector<std::string> known(std::begin(kOtherVariables), std::end(kOtherVariables));
    for (const Setting& setting : SettingTable()) known.push_back(VariableOf(setting.key));
    for (const auto& [tenant, given] : file_.webhooks) {
      for (const std::string& reference : given.texts) {
        if (reference.starts_with("env:")) known.push_back(reference.substr(4));
      }
    }
    std::vector<std::string_view> words;
    for (const std::string& name : known) {
      if (name.starts_with(kPrefix)) words.push_back(std::string_view(name).substr(kPrefix.size()));
    }
    for (const std::string& name : sources_.variables) {
      const std::string_view word = std::string_view(name).substr(kPrefix.size());
      if (std::ranges::find(words, word) != words.end()) continue;
      std::string meant = DidYouMean(word, words);
      if (meant.empty()) {
        loaded_.strange_variables.push_back(name);
      } else {
        meant.insert(meant.find('\'') + 1, kPrefix);
        faults_.push_back({name, "unknown setting" + meant});
      }
    }
  }

  std::optional<WebhookSecret> ReadSecret(const std::string& reference, std::string& wrong) const {
    const std::string name = reference.substr(reference.find(':') + 1);
    std::string text;
    if (reference.starts_with("env:")) {
      const auto value = Variable(name);
      if (!value) wrong = "the variable " + name + " is not set";
      text = value.value_or("");
    } else {
      const auto content = ReadPrivateFile(Beside(name), kSecretBytesMax);
      if (!content) wrong = content.error().message;
      if (content && !*content) wrong = "there is no file " + Beside(name);
      if (content && *content) text = **content;
    }
    if (!wrong.empty()) return std::nullopt;
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    auto secret = WebhookSecret::Parse(text);
    if (!secret) wrong = reference + " is not a webhook secret (whsec_ and Base64)";
    return secret;
  }

  void TakeSinks() {
    for (const std::string& path : loaded_.settings.sink_files) {
      const auto text = ReadPrivateFile(path, kSinkBytesMax);
      if (!text || !*text) {
        faults_.push_back(
            {"", "'sinks.files': " + (text ? "there is no file " + path : text.error().message)});
        continue;
      }
      auto sink = ReadSinkDefinition(**text, "", {.owner = SinkOwner::kServer});
      if (sink) loaded_.settings.server.bus.server_sinks.push_back(*std::move(sink));
      if (sink) continue;
      for (const Fault& fault : sink.error().faults) {
        faults_.push_back(
            {path + fault.pointer, path + ": " + fault.pointer + " " + fault.message});
      }
      if (sink.error().faults.empty())
        faults_.push_back({path, path + ": " + sink.error().message});
    }
  }

  void Complete() {
    ServeSettings& settings = loaded_.settings;
    ServerOptions& server = settings.server;
    using Overload = AdmissionPolicy::Overload;
    server.engine.admission.overload = settings.overload == "queue"   ? Overload::kQueue
                                       : settings.overload == "delay" ? Overload::kDelay
                                                                      : Overload::kReject;
    server.authentication = !settings.dev;
    if (settings.dev) settings.tenant_share = 100;  // there is only one tenant
    server.work.tenant_share = settings.tenant_share;
    server.queue.tenant_share = settings.tenant_share;
    server.bus.tenant_share = settings.tenant_share;
    server.api.streams = {server.http.connections_max, settings.tenant_share};
    server.api.requests.tenant_percent = settings.tenant_share;
    server.http.tenant_share = settings.tenant_share;
    if (settings.dev) {
      server.engine.tools.enabled.clear();  // all tools
      server.engine.tools.allow_private_addresses = true;
      server.bus.private_addresses = true;
      server.engine.tools.plan_schemes = {"file", "https"};
      server.engine.tools.secret_variables = {"*=*"};
      server.engine.tools.http_proxies = {"*"};
      return;
    }
    server.engine.tools.enabled.assign(std::begin(kHarmlessTools), std::end(kHarmlessTools));
    for (const std::string& tool : settings.tools) server.engine.tools.enabled.push_back(tool);
  }

  const SettingSources& sources_;
  std::vector<Fault> faults_;
  const SettingsFile file_;
  LoadedSettings loaded_;
};

std::string Cell(std::string_view text) {
  return text.empty() ? std::string() : "`" + std::string(text) + "`";
}

}  // namespace

ServeSettings::ServeSettings() {
  server.engine.tools.allow_private_addresses = false;
  server.engine.tools.plan_schemes = {"https"};
  server.engine.tools.secret_variables.clear();
  server.engine.tools.http_proxies.clear();
}

std::string VariableOf(std::string_view key) {
  std::string name = "EVERSTEP_";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0) name.push_back('_');
    name.push_back(c == '.' ? '_' : static_cast<char>(std::toupper(byte)));
  }
  return name;
}

Result<LoadedSettings> LoadSettings(const SettingSources& sources) {
  return Loading(sources).Load();
}

std::string SettingsMarkdown() {
  std::string text =
      "| Key | Environment | Flag | Type | Default | Meaning |\n|---|---|---|---|---|---|\n";
  ServeSettings defaults;
  const auto row = [&text](std::initializer_list<std::string> cells) {
    for (const std::string& cell : cells) text.append("| ").append(cell).append(" ");
    text.append("|\n");
  };
  for (const Setting& setting : SettingTable()) {
    std::string type(Name(setting.shape));
    std::string words;
    for (const std::string_view word : setting.words) {
      words.append(words.empty() ? "" : ", ").append(word);
    }
    if (!words.empty()) type = setting.shape == SettingShape::kList ? "list of " + words : words;
    if (setting.max != 0) {
      type += ", " + NumberText(setting.shape, setting.min) + " to " +
              NumberText(setting.shape, setting.max);
    }
    row({Cell(setting.key), Cell(VariableOf(setting.key)),
         setting.flag.empty() ? "" : Cell("--" + std::string(setting.flag)), type,
         Cell(ValueText(setting.shape, setting.target(defaults))), std::string(setting.meaning)});
  }
  AdmissionLimit limit;
  for (const TenantSetting& setting : TenantSettings()) {
    row({Cell("admission.tenants.<tenant>." + std::string(setting.key)), "", "",
         std::string(Name(setting.shape)), Cell(ValueText(setting.shape, setting.target(limit))),
         "of this tenant: " + std::string(setting.meaning)});
  }
  row({Cell("webhooks.<tenant>"), "", "", "list", "",
       "its webhook secrets, as `file:PATH` or `env:NAME`"});
  return text;
}

}  // namespace everstep
