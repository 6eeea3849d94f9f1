#include "work/engine_parts.h"

#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/uuid.h"
#include "work/plan_source.h"
#include "work/secret_file.h"

namespace everstep {
namespace {

// The encrypted secret file. Reads the key file for each request.
class KeyedSecretFile final : public SecretProvider {
 public:
  explicit KeyedSecretFile(std::string path) : path_(std::move(path)) {}
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) override {
    auto key = SecretFileKey::FromFile(path_ + ".key");
    if (!key) return std::move(key).error();
    return SecretFile(path_, std::move(*key), SystemRandom()).Get(owner, ref);
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

LocalToolBoxOptions BoxOptions(const EngineOptions& options, SecretVariables variables,
                               SecretReport report) {
  LocalToolBoxOptions box;
  box.tools = options.tools;
  if (box.tools.artifact_directory.empty()) {
    box.tools.artifact_directory = Beside(options.log.directory, "artifacts");
  }
  box.environment = EnvironmentVariable;
  auto secrets = std::make_shared<Secrets>(std::move(report));
  secrets->Add("env",
               std::make_unique<EnvironmentSecrets>(EnvironmentVariable, std::move(variables)));
  const std::string file = options.tools.secrets_file.empty()
                               ? Beside(options.log.directory, "secrets")
                               : options.tools.secrets_file;
  secrets->Add("file", std::make_unique<KeyedSecretFile>(file));
  box.secrets = std::move(secrets);
  return box;
}

}  // namespace

Result<EngineParts> OpenEngineParts(const EngineOptions& options, SecretReport report) {
  auto variables = SecretVariables::Parse(options.tools.secret_variables);
  if (!variables) return std::move(variables).error();
  auto opened = Log::Open(options.log);
  if (!opened) return std::move(opened).error();
  EngineParts parts;
  // Log::Open always returns an EmbeddedLog.
  parts.log.reset(static_cast<EmbeddedLog*>(opened->release()));
  LocalToolBoxOptions box = BoxOptions(options, *std::move(variables), std::move(report));
  parts.secrets = box.secrets;
  parts.tools = std::make_unique<LocalToolBox>(std::move(box), SystemClock());
  parts.plans = std::make_unique<FetchedPlans>(options.tools);
  return parts;
}

}  // namespace everstep
