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

// Reads a setting of the machine by name, such as an environment variable. Returns nullopt if it is
// not set.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

// A source of secret values. Thread-safe.
class SecretProvider {
 public:
  virtual ~SecretProvider() = default;
  // Returns kSecretUnavailable if the owner has no secret of that key and version, is not allowed
  // to read it, or if the source cannot be read. The message contains the key but never a value.
  virtual Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) = 0;
};

// Reads secrets from environment variables. The key is the name of a variable, which the owner must
// be allowed to read.
class EnvironmentSecrets final : public SecretProvider {
 public:
  EnvironmentSecrets(Environment environment, SecretVariables allowed);
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) override;

 private:
  const Environment environment_;
  const SecretVariables allowed_;
};

// Receives the reason why a secret was unavailable. May be called on any thread.
using SecretReport =
    std::function<void(const SecretOwner& owner, const SecretRef& ref, const std::string& why)>;

// The secret providers by name. All providers must be added before it is shared between threads.
class Secrets {
 public:
  // With a report, the error for a tenant is the same for all reasons, and the reason goes to the
  // report only: a tenant must not learn which other secrets exist. Without a report, the error
  // gives the reason.
  explicit Secrets(SecretReport report = {}) : report_(std::move(report)) {}

  void Add(std::string name, std::unique_ptr<SecretProvider> provider);
  // Returns kSecretUnavailable if there is no such provider, or the error of the provider.
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) const;

 private:
  const SecretReport report_;
  std::vector<std::pair<std::string, std::unique_ptr<SecretProvider>>> providers_;
};

}  // namespace everstep
