#include "work/secrets.h"

namespace everstep {
namespace {

Error Unavailable(const SecretRef& ref, const std::string& why) {
  return {ErrorCode::kSecretUnavailable, "secret '" + ref.name + "': " + why, {}};
}

}  // namespace

EnvironmentSecrets::EnvironmentSecrets(Environment environment, SecretVariables allowed)
    : environment_(std::move(environment)), allowed_(std::move(allowed)) {}

Result<std::string> EnvironmentSecrets::Get(const SecretOwner& owner, const SecretRef& ref) {
  if (!allowed_.Allows(owner, ref.key)) {
    return Unavailable(ref, "the setting secrets.env does not allow tenant " + owner.tenant_id() +
                                " to read the environment variable " + ref.key);
  }
  auto value = environment_(ref.key);
  if (!value) return Unavailable(ref, "the environment variable " + ref.key + " is not set");
  return *std::move(value);
}

void Secrets::Add(std::string name, std::unique_ptr<SecretProvider> provider) {
  providers_.emplace_back(std::move(name), std::move(provider));
}

Result<std::string> Secrets::Get(const SecretOwner& owner, const SecretRef& ref) const {
  Result<std::string> value =
      Unavailable(ref, "there is no secret provider '" + ref.provider + "'");
  for (const auto& [name, provider] : providers_) {
    if (name == ref.provider) value = provider->Get(owner, ref);
  }
  if (value || !report_ || owner.is_server()) return value;
  report_(owner, ref, value.error().message);
  return Unavailable(ref, "the provider '" + ref.provider + "' has no '" + ref.key +
                              "' for this tenant; see the server's log for the reason");
}

}  // namespace everstep
