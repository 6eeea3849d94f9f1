#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "work/secret_owner.h"

namespace everstep {

// Which environment variables of the process the plans of which tenant may read as secrets. None
// by default; the server's own settings may read any.
class SecretVariables {
 public:
  // One rule is "TENANT=NAME"; the name may end in *, which stands for any rest, and the tenant
  // may be *, which stands for every tenant. kInvalidArgument names each rule that is none.
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
