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

namespace everstep {

// Reads a setting of the machine by name, such as an environment variable; nothing: not set.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

// Where values of secrets come from. Thread-safe.
class SecretProvider {
 public:
  virtual ~SecretProvider() = default;
  // kSecretUnavailable: there is none of that key or version, or the source cannot be read. The
  // message names the key, never a value.
  virtual Result<std::string> Get(const SecretRef& ref) = 0;
};

// The key is the name of an environment variable.
class EnvironmentSecrets final : public SecretProvider {
 public:
  explicit EnvironmentSecrets(Environment environment);
  Result<std::string> Get(const SecretRef& ref) override;

 private:
  Environment environment_;
};

// The providers by name. Filled before it is shared.
class Secrets {
 public:
  void Add(std::string name, std::unique_ptr<SecretProvider> provider);
  // kSecretUnavailable: no such provider, or as it says.
  Result<std::string> Get(const SecretRef& ref) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<SecretProvider>>> providers_;
};

}  // namespace everstep
