#include "work/secret_variables.h"

#include <algorithm>
#include <utility>

#include "event/identifier.h"

namespace everstep {
namespace {

constexpr std::string_view kAny = "*";

}  // namespace

Result<SecretVariables> SecretVariables::Parse(std::span<const std::string> rules) {
  SecretVariables variables;
  Error error{ErrorCode::kInvalidArgument, "invalid list of environment variables", {}};
  for (const std::string& text : rules) {
    const std::size_t equals = text.find('=');
    Rule rule{text.substr(0, equals), {}, false};
    if (equals != std::string::npos) rule.name = text.substr(equals + 1);
    rule.is_prefix = rule.name.ends_with('*');
    if (rule.is_prefix) rule.name.pop_back();
    const bool named = (rule.is_prefix || !rule.name.empty()) &&
                       rule.name.find_first_of("*=") == std::string::npos;
    if (named && (rule.tenant_id == kAny || IsIdentifier(rule.tenant_id))) {
      variables.rules_.push_back(std::move(rule));
    } else {
      error.faults.push_back({"", "'" + text + "' must be TENANT=NAME or TENANT=PREFIX*"});
    }
  }
  if (!error.faults.empty()) return error;
  return variables;
}

SecretVariables SecretVariables::All() {
  SecretVariables variables;
  variables.rules_.push_back({std::string(kAny), {}, true});
  return variables;
}

bool SecretVariables::Allows(const SecretOwner& owner, std::string_view name) const {
  return owner.is_server() || std::ranges::any_of(rules_, [&](const Rule& rule) {
           const bool theirs = rule.tenant_id == kAny || rule.tenant_id == owner.tenant_id();
           return theirs && (rule.is_prefix ? name.starts_with(rule.name) : name == rule.name);
         });
}

}  // namespace everstep
