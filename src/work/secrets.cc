#include "work/secrets.h"

namespace everstep {
namespace {

Error Unavailable(const SecretRef& ref, const std::string& why) {
  return {ErrorCode::kSecretUnavailable, "secret '" + ref.name + "': " + why, {}};
}

}  // namespace

EnvironmentSecrets::EnvironmentSecrets(Environment environment)
    : environment_(std::move(environment)) {}

Result<std::string> EnvironmentSecrets::Get(const SecretRef& ref) {
  auto value = environment_(ref.key);
  if (!value) return Unavailable(ref, "the environment variable " + ref.key + " is not set");
  return *std::move(value);
}

void Secrets::Add(std::string name, std::unique_ptr<SecretProvider> provider) {
  providers_.emplace_back(std::move(name), std::move(provider));
}

Result<std::string> Secrets::Get(const SecretRef& ref) const {
  for (const auto& [name, provider] : providers_) {
    if (name == ref.provider) return provider->Get(ref);
  }
  return Unavailable(ref, "there is no secret provider '" + ref.provider + "'");
}

}  // namespace everstep
