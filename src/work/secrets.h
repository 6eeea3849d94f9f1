#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "everstep/result.h"
#include "flow/plan.h"
#include "work/secret_owner.h"
#include "work/secret_variables.h"

namespace everstep {

// Reads a setting of the machine by name, such as an environment variable; nothing: not set.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

// Where values of secrets come from. Thread-safe.
class SecretProvider {
 public:
  virtual ~SecretProvider() = default;
  // kSecretUnavailable: the owner has none of that key or version, may not read it, or the source
  // cannot be read. The message names the key, never a value.
  virtual Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) = 0;
};

// The key is the name of an environment variable, which the owner must be allowed to read.
class EnvironmentSecrets final : public SecretProvider {
 public:
  EnvironmentSecrets(Environment environment, SecretVariables allowed);
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) override;

 private:
  const Environment environment_;
  const SecretVariables allowed_;
};

// Hears why a secret was unavailable. Any thread.
using SecretReport =
    std::function<void(const SecretOwner& owner, const SecretRef& ref, const std::string& why)>;

// The providers by name. Filled before it is shared.
class Secrets {
 public:
  // With a report, a tenant's error says only that the secret is unavailable, in the same words
  // whatever the reason, and the reason goes to the report: a tenant must not learn what else there
  // is. Without, the error gives the reason.
  explicit Secrets(SecretReport report = {}) : report_(std::move(report)) {}

  void Add(std::string name, std::unique_ptr<SecretProvider> provider);
  // kSecretUnavailable: no such provider, or as it says.
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) const;

 private:
  const SecretReport report_;
  std::vector<std::pair<std::string, std::unique_ptr<SecretProvider>>> providers_;
};

}  // namespace everstep
