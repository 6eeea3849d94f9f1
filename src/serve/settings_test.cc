#include "serve/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SettingSources FromFile(std::string text) { return {"everstep.yaml", std::move(text), {}, {}}; }

std::string FaultsOf(const SettingSources& sources) {
  const auto loaded = LoadSettings(sources);
  return loaded ? std::string() : ToString(loaded.error());
}

const SettingValue& ValueOf(const LoadedSettings& loaded, std::string_view key) {
  return *std::ranges::find(loaded.values, key, &SettingValue::key);
}

TEST(SettingsTest, WithoutSourcesTheDefaultsApply) {
  const auto loaded = LoadSettings({});
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->settings.server.http.listen, ElementsAre("127.0.0.1:7377"));
  EXPECT_TRUE(loaded->settings.server.authentication);
  EXPECT_THAT(loaded->settings.server.engine.tools.enabled,
              ElementsAre("noop", "echo", "merge", "sleep", "http"));
  EXPECT_FALSE(loaded->settings.server.engine.tools.allow_private_addresses);
  EXPECT_THAT(loaded->settings.server.engine.tools.plan_schemes, ElementsAre("https"));
  EXPECT_TRUE(loaded->settings.server.engine.tools.secret_variables.empty());
  EXPECT_TRUE(loaded->settings.server.engine.tools.http_proxies.empty());
  EXPECT_EQ(ValueOf(*loaded, "drainTimeout").text, "20s");
  EXPECT_EQ(ValueOf(*loaded, "drainTimeout").source, "default");
}

TEST(SettingsTest, FlagsOverrideTheEnvironmentWhichOverridesTheFile) {
  SettingSources sources = FromFile("ioThreads: 2\ndrainTimeout: 5s\nlimits:\n  headers: 50\n");
  sources.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "EVERSTEP_IO_THREADS") return "3";
    if (name == "EVERSTEP_DRAIN_TIMEOUT") return "6s";
    return std::nullopt;
  };
  sources.flags = {{"io-threads", {"4"}}};
  const auto loaded = LoadSettings(sources);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.server.http.io_threads, 4U);
  EXPECT_EQ(ValueOf(*loaded, "ioThreads").source, "--io-threads");
  EXPECT_EQ(loaded->settings.drain_timeout, std::chrono::seconds(6));
  EXPECT_EQ(ValueOf(*loaded, "drainTimeout").source, "EVERSTEP_DRAIN_TIMEOUT");
  EXPECT_EQ(loaded->settings.server.http.headers_max, 50U);
  EXPECT_EQ(ValueOf(*loaded, "limits.headers").source, "everstep.yaml:4:12");
}

TEST(SettingsTest, EveryShapeIsRead) {
  const auto loaded = LoadSettings(FromFile(
      "listen: [127.0.0.1:1, '[::1]:2']\ntools: {enable: shell}\nstore: {memory: 64M, cache: 0}\n"
      "admission:\n  overload: reject\n  tenant: {startsPerSecond: 2.5}\n"
      "metrics: {open: true}\nlog: {level: warn, slowRequest: 0}\n"));
  ASSERT_TRUE(loaded) << ToString(loaded.error());
  const ServerOptions& server = loaded->settings.server;
  EXPECT_THAT(server.http.listen, ElementsAre("127.0.0.1:1", "[::1]:2"));
  EXPECT_EQ(server.engine.tools.enabled.back(), "shell");
  EXPECT_EQ(server.engine.log.memory_bytes_max, 64U << 20);
  EXPECT_EQ(ValueOf(*loaded, "store.memory").text, "64M");
  EXPECT_EQ(server.engine.admission.overload, AdmissionPolicy::Overload::kReject);
  EXPECT_EQ(server.engine.admission.tenant.starts_per_second, 2.5);
  EXPECT_TRUE(server.api.metrics_open);
  EXPECT_EQ(loaded->settings.slow_request.count(), 0);
}

TEST(SettingsTest, TenantsHaveTheirOwnLimits) {
  const auto loaded = LoadSettings(FromFile(
      "admission:\n  tenants:\n    acme: {running: 5, weight: 3}\n    other: {burst: 2}\n"));
  ASSERT_TRUE(loaded) << ToString(loaded.error());
  const auto& tenants = loaded->settings.server.engine.admission.tenants;
  ASSERT_EQ(tenants.size(), 2U);
  EXPECT_EQ(tenants[0].first, "acme");
  EXPECT_EQ(tenants[0].second.running_max, 5U);
  EXPECT_EQ(tenants[0].second.weight, 3U);
  EXPECT_EQ(ValueOf(*loaded, "admission.tenants.acme.weight").text, "3");
}

TEST(SettingsTest, FaultsHaveTheirPlaceAndASuggestion) {
  const auto loaded =
      LoadSettings(FromFile("lisen: x\nlimits:\n  conections: 5\n  headers: many\nadmission: "
                            "{tenants: {a: {runing: 1}}}\n"));
  ASSERT_FALSE(loaded);
  const Error& error = loaded.error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(error.faults.size(), 4U);
  EXPECT_EQ(error.faults[0].message, "there is no setting 'lisen'; did you mean 'listen'?");
  EXPECT_EQ(error.faults[0].line, 1U);
  EXPECT_EQ(error.faults[1].message,
            "there is no setting 'limits.conections'; did you mean 'connections'?");
  EXPECT_EQ(error.faults[1].line, 3U);
  EXPECT_EQ(error.faults[1].column, 3U);
  EXPECT_THAT(error.faults[2].message, HasSubstr("did you mean 'running'?"));
  EXPECT_EQ(error.faults[3].message, "'limits.headers' takes a whole number, not 'many'");
  EXPECT_EQ(error.faults[3].line, 4U);
}

TEST(SettingsTest, ValuesOfTheWrongShapeAreRefused) {
  EXPECT_THAT(FaultsOf(FromFile("drainTimeout: 20")), HasSubstr("a duration with its unit"));
  EXPECT_THAT(FaultsOf(FromFile("store: {memory: 5T}")), HasSubstr("a number of bytes"));
  EXPECT_THAT(FaultsOf(FromFile("ioThreads: 0")), HasSubstr("is at least 1"));
  EXPECT_THAT(FaultsOf(FromFile("ioThreads: 1000000000")), HasSubstr("is at most 256"));
  EXPECT_THAT(FaultsOf(FromFile("admission: {queue: 5000000000}")), HasSubstr("is at most"));
  EXPECT_THAT(FaultsOf(FromFile("limits: {head: 1G}")), HasSubstr("is at most 16M"));
  EXPECT_THAT(FaultsOf(FromFile("store: {cache: 4000000G}")), HasSubstr("is at most 1048576G"));
  EXPECT_THAT(FaultsOf(FromFile("drainTimeout: 5000d")), HasSubstr("is at most 3650d"));
  EXPECT_THAT(FaultsOf(FromFile("ioThreads: [1, 2]")), HasSubstr("takes one value"));
  EXPECT_THAT(FaultsOf(FromFile("ioThreads: {a: 1}")), HasSubstr("needs a value here"));
  EXPECT_THAT(FaultsOf(FromFile("metrics: {open: yes}")), HasSubstr("true or false, not 'yes'"));
  EXPECT_THAT(FaultsOf(FromFile("log: {level: warm}")), HasSubstr("did you mean 'warn'?"));
  EXPECT_THAT(FaultsOf(FromFile("tools: {enable: [shell, bash]}")), HasSubstr("not 'bash'"));
  EXPECT_THAT(FaultsOf(FromFile("limits: 5")), HasSubstr("must be a map"));
  EXPECT_THAT(FaultsOf(FromFile("- 1")), HasSubstr("settings must be a map"));
  EXPECT_THAT(FaultsOf(FromFile("a: [")), HasSubstr("not YAML"));
  EXPECT_THAT(FaultsOf(FromFile("dev: true\ndev: false")), HasSubstr("dev"));
  EXPECT_THAT(FaultsOf(FromFile("admission: {tenant: {startsPerSecond: -1}}")),
              HasSubstr("zero or more"));
}

std::string UnservableOf(const std::string& text) {
  const auto loaded = LoadSettings(FromFile(text));
  if (!loaded) return "not loaded";
  const Status fit = CheckServable(loaded->settings.server);
  return fit ? std::string() : ToString(fit.error());
}

TEST(SettingsTest, UnservableSettingsAreDetectedWithoutStartingAServer) {
  EXPECT_EQ(UnservableOf(""), "");
  EXPECT_EQ(UnservableOf("dev: true\nlisten: ['[::1]:0', localhost:1]"), "");
  EXPECT_THAT(UnservableOf("listen: foo"), HasSubstr("listen: 'foo' is not HOST:PORT"));
  EXPECT_THAT(UnservableOf("listen: 127.0.0.1:99999"), HasSubstr("a port up to 65535"));
  EXPECT_THAT(UnservableOf("listen: []"), HasSubstr("no address given"));
  EXPECT_THAT(UnservableOf("dev: true\nlisten: 0.0.0.0:7809"),
              HasSubstr("only loopback addresses are allowed"));
  EXPECT_THAT(UnservableOf("tls: {key: k.pem}"), HasSubstr("must be set together"));
  EXPECT_THAT(
      UnservableOf("tls: {certificate: /nowhere/c.pem, key: /nowhere/k.pem}"),
      HasSubstr("tls.certificate: the certificate '/nowhere/c.pem' cannot be used: No such file"));
}

TEST(SettingsTest, MisspelledVariablesAreRefusedAndUnknownOnesReported) {
  SettingSources sources = FromFile("webhooks: {acme: env:EVERSTEP_ACME_HOOK}\n");
  sources.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "EVERSTEP_ACME_HOOK") return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    return std::nullopt;
  };
  // Variables of a pod next to a service, of a step's process, of a test: servers run in all of
  // these.
  sources.variables = {"EVERSTEP_ACME_HOOK",
                       "EVERSTEP_ATTEMPT",
                       "EVERSTEP_CHAOS_SEED",
                       "EVERSTEP_DATA",
                       "EVERSTEP_ENV",
                       "EVERSTEP_IDEMPOTENCY_KEY",
                       "EVERSTEP_IO_THREADS",
                       "EVERSTEP_PORT",
                       "EVERSTEP_PORT_7377_TCP",
                       "EVERSTEP_PORT_7377_TCP_PROTO",
                       "EVERSTEP_SERVICE_HOST",
                       "EVERSTEP_SERVICE_PORT",
                       "EVERSTEP_SERVICE_PORT_API"};
  const auto loaded = LoadSettings(sources);
  ASSERT_TRUE(loaded) << ToString(loaded.error());
  EXPECT_THAT(loaded->strange_variables,
              ElementsAre("EVERSTEP_ENV", "EVERSTEP_PORT", "EVERSTEP_PORT_7377_TCP",
                          "EVERSTEP_PORT_7377_TCP_PROTO", "EVERSTEP_SERVICE_HOST",
                          "EVERSTEP_SERVICE_PORT", "EVERSTEP_SERVICE_PORT_API"));
  sources.variables = {"EVERSTEP_IO_THRADS"};
  EXPECT_THAT(FaultsOf(sources), HasSubstr("EVERSTEP_IO_THRADS: unknown setting; did you mean "
                                           "'EVERSTEP_IO_THREADS'?"));
}

TEST(SettingsTest, TenantsReadTheVariablesThatAreListedForThem) {
  const auto loaded = LoadSettings(FromFile("secrets: {env: [acme=STRIPE_KEY, 'acme=ACME_*']}\n"));
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->settings.server.engine.tools.secret_variables,
              ElementsAre("acme=STRIPE_KEY", "acme=ACME_*"));
  EXPECT_THAT(FaultsOf(FromFile("secrets: {env: [STRIPE_KEY]}\n")),
              HasSubstr("'secrets.env': 'STRIPE_KEY' must be TENANT=NAME"));
}

TEST(SettingsTest, TheTenantShareAppliesToEverySharedLimit) {
  const auto loaded = LoadSettings(FromFile("limits: {tenantShare: 25, connections: 100}\n"));
  ASSERT_TRUE(loaded);
  const ServerOptions& server = loaded->settings.server;
  EXPECT_EQ(server.work.tenant_share, 25U);
  EXPECT_EQ(server.queue.tenant_share, 25U);
  EXPECT_EQ(server.bus.tenant_share, 25U);
  EXPECT_EQ(server.api.streams.tenant_max(), 25U);
}

TEST(SettingsTest, AFileOfCommentsIsEmpty) {
  EXPECT_TRUE(LoadSettings(FromFile("")));
  EXPECT_TRUE(LoadSettings(FromFile("# a comment\n\n   # another")));
  EXPECT_TRUE(LoadSettings(FromFile("limits:\n")));
}

TEST(SettingsTest, PathsAreRelativeToTheSettingsFile) {
  const auto loaded = LoadSettings(
      {"/etc/everstep/everstep.yaml", "tls: {certificate: c.pem, key: /k.pem}", {}, {}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.server.http.certificate_file, "/etc/everstep/c.pem");
  EXPECT_EQ(loaded->settings.server.http.key_file, "/k.pem");
}

TEST(SettingsTest, DevelopmentHasNoAuthenticationAndAllTools) {
  SettingSources sources;
  sources.flags = {{"dev", {"true"}}};
  const auto loaded = LoadSettings(sources);
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->settings.server.authentication);
  EXPECT_TRUE(loaded->settings.server.engine.tools.enabled.empty());
}

constexpr char kCanary[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

TEST(SettingsTest, WebhookSecretsAreReferencesAndAreNeverShown) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/hook";
  std::ofstream(path) << kCanary << "\n";
  SettingSources sources = FromFile("webhooks:\n  acme: ['file:" + path + "', env:ACME_SECRET]\n");
  sources.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "ACME_SECRET") return kCanary;
    return std::nullopt;
  };
  const auto loaded = LoadSettings(sources);
  ASSERT_TRUE(loaded) << ToString(loaded.error());
  EXPECT_EQ(loaded->settings.server.api.webhook_secrets.at("acme").size(), 2U);
  for (const SettingValue& value : loaded->values) {
    EXPECT_THAT(value.text, Not(HasSubstr("MfKQ9r8G"))) << value.key;
  }
  EXPECT_EQ(ValueOf(*loaded, "webhooks.acme").text, "file:" + path + ",env:ACME_SECRET");
}

TEST(SettingsTest, ASecretInTheFileItselfIsRefusedAndNotEchoed) {
  const std::string faults = FaultsOf(FromFile(std::string("webhooks: {acme: ") + kCanary + "}"));
  EXPECT_THAT(faults, HasSubstr("not the secret itself"));
  EXPECT_THAT(faults, Not(HasSubstr("MfKQ9r8G")));
  EXPECT_THAT(FaultsOf(FromFile("webhooks: {acme: env:NOPE}")), HasSubstr("NOPE is not set"));
  EXPECT_THAT(FaultsOf(FromFile("webhooks: {acme: file:/nowhere/x}")), HasSubstr("/nowhere/x"));
}

TEST(SettingsTest, NamesAreUniqueAndVariablesFollowFromKeys) {
  EXPECT_EQ(VariableOf("tls.certificate"), "EVERSTEP_TLS_CERTIFICATE");
  EXPECT_EQ(VariableOf("limits.headTimeout"), "EVERSTEP_LIMITS_HEAD_TIMEOUT");
  // These have another meaning to the program.
  std::set<std::string> variables = {"EVERSTEP_DATA",  "EVERSTEP_STORE",      "EVERSTEP_SERVER",
                                     "EVERSTEP_TOKEN", "EVERSTEP_TOKEN_FILE", "EVERSTEP_CA_FILE",
                                     "EVERSTEP_CONFIG"};
  std::set<std::string_view> flags;
  for (const Setting& setting : SettingTable()) {
    EXPECT_TRUE(variables.insert(VariableOf(setting.key)).second) << setting.key;
    EXPECT_TRUE(setting.flag.empty() || flags.insert(setting.flag).second) << setting.flag;
    EXPECT_FALSE(setting.meaning.empty()) << setting.key;
  }
}

TEST(SettingsTest, DefaultsRoundTripAsText) {
  ServeSettings defaults;
  const auto loaded = LoadSettings({});
  ASSERT_TRUE(loaded);
  std::map<std::string, std::string> variables;
  for (const SettingValue& value : loaded->values) variables[VariableOf(value.key)] = value.text;
  SettingSources sources;
  sources.environment = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const auto again = LoadSettings(sources);
  ASSERT_TRUE(again) << ToString(again.error());
  for (std::size_t i = 0; i < loaded->values.size(); ++i) {
    EXPECT_EQ(again->values[i].text, loaded->values[i].text) << loaded->values[i].key;
  }
}

TEST(SettingsTest, TheDocumentationContainsTheTable) {
  std::ifstream file(std::string(EVERSTEP_SOURCE_DIR) + "/docs/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(SettingsMarkdown()))
      << "put the output of 'everstep config table' into docs/configuration.md";
}

}  // namespace
}  // namespace everstep
