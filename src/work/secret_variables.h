#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "work/secret_owner.h"

namespace everstep {

// Defines which environment variables of the process the plans of each tenant may read as secrets.
// None by default. The server's own settings may read any variable.
class SecretVariables {
 public:
  // A rule is "TENANT=NAME". The name may end in *, which matches any suffix, and the tenant may be
  // *, which matches every tenant. Returns kInvalidArgument with a fault for each invalid rule.
  static Result<SecretVariables> Parse(std::span<const std::string> rules);
  static SecretVariables All();

  bool Allows(const SecretOwner& owner, std::string_view name) const;

 private:
  struct Rule {
    std::string tenant_id;  // "*": every tenant
    std::string name;
    bool is_prefix = false;
  };

  std::vector<Rule> rules_;
};

}  // namespace everstep
