#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// What a call requires. The names are those in docs/security.md.
enum class Permission : std::uint8_t {
  kRunRead,
  kRunStart,
  kRunCancel,
  kRunApprove,
  kSignalSend,
  kEventRead,
  kEventAppend,
  kHookRead,
  kHookDeliver,
  kPlanRead,
  kPlanWrite,
  kQueueRead,
  kQueueWrite,
  kArtifactRead,
  kArtifactWrite,
  kAlertRead,
  kMetricsRead,
  kSinkRead,
  kSinkOperate,  // pause and resume; replay and purge dead letters
  kSinkWrite,
  kWorkDo,
  kAuditRead,
  kTokenManage,
  kTenantAny,  // also tokens and audit entries of other tenants
};
inline constexpr int kPermissionCount = static_cast<int>(Permission::kTenantAny) + 1;
std::string_view Name(Permission permission);  // "run.read"

// The roles a token can have.
enum class Role : std::uint8_t {
  kViewer,
  kOperator,
  kEngineer,
  kAdmin,
  kSystem,
  kTenantAdmin,
  kPlanAuthor,
  kAuditor,
};
inline constexpr int kRoleCount = static_cast<int>(Role::kAuditor) + 1;
std::string_view Name(Role role);  // "tenant-admin"
std::optional<Role> RoleFromName(std::string_view name);

// A set of an enum's values.
template <typename E>
class SetOf {
 public:
  constexpr SetOf() = default;
  template <typename... Rest>
  constexpr explicit SetOf(E first, Rest... rest) {
    Add(first);
    (Add(rest), ...);
  }
  constexpr void Add(E value) { bits_ |= 1U << static_cast<unsigned>(value); }
  constexpr bool Has(E value) const { return (bits_ >> static_cast<unsigned>(value) & 1U) != 0; }
  constexpr bool HasAllOf(SetOf other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr SetOf operator|(SetOf other) const {
    SetOf both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  bool operator==(const SetOf&) const = default;

 private:
  std::uint32_t bits_ = 0;
};
using PermissionSet = SetOf<Permission>;
using RoleSet = SetOf<Role>;

struct RoleRule {
  Role role;
  std::string_view name;
  std::string_view actor_role;  // the engine's name for signals: "Operator"
  PermissionSet permissions;
};
// The single table of what each role may do, in the order of the enum. Everything else is denied.
std::span<const RoleRule> RoleRules();

PermissionSet PermissionsOf(RoleSet roles);
// The engine's names for the roles, without duplicates.
std::vector<std::string> ActorRolesOf(RoleSet roles);

// Whether a caller with permissions `own` may grant these roles. Nobody can grant more than they
// have.
bool MayGrant(PermissionSet own, RoleSet roles);

}  // namespace everstep
