#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/embedded_log.h"
#include "everstep/engine.h"
#include "run/local_engine.h"
#include "work/local_tool_box.h"
#include "work/plan_source.h"
#include "work/secret_file.h"
#include "work/secrets.h"

namespace everstep {
namespace {

// The encrypted file of secrets, whose key is read when one is asked for.
class KeyedSecretFile final : public SecretProvider {
 public:
  explicit KeyedSecretFile(std::string path) : path_(std::move(path)) {}
  Result<std::string> Get(const SecretRef& ref) override {
    auto key = SecretFileKey::FromFile(path_ + ".key");
    if (!key) return std::move(key).error();
    return SecretFile(path_, std::move(*key), SystemRandom()).Get(ref);
  }

 private:
  const std::string path_;
};

class FetchedPlans final : public PlanFetcher {
 public:
  explicit FetchedPlans(const ToolOptions& options) : source_(options) {}
  Result<std::string> Fetch(std::string_view uri, std::string_view base) override {
    return source_.Fetch(uri, base);
  }

 private:
  PlanSource source_;
};

std::string Beside(const std::string& directory, const char* name) {
  namespace fs = std::filesystem;
  if (!directory.empty()) return (fs::path(directory).parent_path() / name).string();
  return (fs::temp_directory_path() / ("everstep-" + NewUuid(SystemRandom())) / name).string();
}

LocalToolBoxOptions BoxOptions(const EngineOptions& options) {
  LocalToolBoxOptions box;
  box.tools = options.tools;
  if (box.tools.artifact_directory.empty()) {
    box.tools.artifact_directory = Beside(options.log.directory, "artifacts");
  }
  box.environment = EnvironmentVariable;
  auto secrets = std::make_shared<Secrets>();
  secrets->Add("env", std::make_unique<EnvironmentSecrets>(EnvironmentVariable));
  const std::string file = options.tools.secrets_file.empty()
                               ? Beside(options.log.directory, "secrets")
                               : options.tools.secrets_file;
  secrets->Add("file", std::make_unique<KeyedSecretFile>(file));
  box.secrets = std::move(secrets);
  return box;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(EngineOptions options) {
  auto opened = Log::Open(options.log);
  if (!opened) return std::move(opened).error();
  // Log::Open has no other kind.
  std::unique_ptr<EmbeddedLog> log(static_cast<EmbeddedLog*>(opened->release()));
  auto tools = std::make_unique<LocalToolBox>(BoxOptions(options), SystemClock());
  auto plans = std::make_unique<FetchedPlans>(options.tools);
  return std::unique_ptr<Engine>(std::make_unique<LocalEngine>(
      LocalEngine::Parts{std::move(log), std::move(tools), std::move(plans), SystemClock(),
                         SystemRandom(), true},
      std::move(options)));
}

}  // namespace everstep
