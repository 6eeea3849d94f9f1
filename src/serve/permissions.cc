#include "serve/permissions.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace everstep {
namespace {

using enum Permission;

constexpr std::array<std::string_view, kPermissionCount> kPermissionNames = {
    "run.read",     "run.start",     "run.cancel",     "run.approve", "signal.send",  "event.read",
    "event.append", "hook.read",     "hook.deliver",   "plan.read",   "plan.write",   "queue.read",
    "queue.write",  "artifact.read", "artifact.write", "alert.read",  "metrics.read", "sink.read",
    "sink.operate", "sink.write",    "work.do",        "audit.read",  "token.manage", "tenant.any",
};

constexpr PermissionSet kSeeing(kRunRead, kEventRead, kHookRead, kPlanRead, kQueueRead,
                                kArtifactRead, kAlertRead, kMetricsRead, kSinkRead);
constexpr PermissionSet kOperating =
    kSeeing |
    PermissionSet(kRunStart, kRunCancel, kRunApprove, kSignalSend, kHookDeliver, kSinkOperate);
constexpr PermissionSet kEngineering =
    kOperating | PermissionSet(kPlanWrite, kQueueWrite, kArtifactWrite);
constexpr PermissionSet kWholeTenant =
    kEngineering | PermissionSet(kEventAppend, kSinkWrite, kWorkDo, kAuditRead, kTokenManage);

constexpr std::array<RoleRule, kRoleCount> kRoles = {{
    {Role::kViewer, "viewer", "Viewer", kSeeing},
    {Role::kOperator, "operator", "Operator", kOperating},
    {Role::kEngineer, "engineer", "Engineer", kEngineering},
    {Role::kAdmin, "admin", "Admin", kWholeTenant | PermissionSet(kTenantAny)},
    {Role::kSystem, "system", "System",
     kSeeing | PermissionSet(kRunStart, kSignalSend, kHookDeliver, kEventAppend, kArtifactWrite,
                             kWorkDo)},
    {Role::kTenantAdmin, "tenant-admin", "Admin", kWholeTenant},
    {Role::kPlanAuthor, "plan-author", "Viewer",
     PermissionSet(kRunRead, kEventRead, kPlanRead, kPlanWrite)},
    {Role::kAuditor, "auditor", "Viewer",
     PermissionSet(kRunRead, kEventRead, kPlanRead, kAlertRead, kAuditRead)},
}};

constexpr bool RolesIndexTheirRules() {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (static_cast<std::size_t>(kRoles[i].role) != i) return false;
  }
  return true;
}
static_assert(RolesIndexTheirRules());

}  // namespace

std::string_view Name(Permission permission) {
  const auto index = static_cast<std::size_t>(permission);
  EVERSTEP_ASSERT(index < kPermissionNames.size());
  return kPermissionNames[index];
}

std::string_view Name(Role role) {
  const auto index = static_cast<std::size_t>(role);
  EVERSTEP_ASSERT(index < kRoles.size());
  return kRoles[index].name;
}

std::optional<Role> RoleFromName(std::string_view name) {
  for (const RoleRule& rule : kRoles) {
    if (rule.name == name) return rule.role;
  }
  return std::nullopt;
}

std::span<const RoleRule> RoleRules() { return kRoles; }

PermissionSet PermissionsOf(RoleSet roles) {
  PermissionSet permissions;
  for (const RoleRule& rule : kRoles) {
    if (roles.Has(rule.role)) permissions = permissions | rule.permissions;
  }
  return permissions;
}

std::vector<std::string> ActorRolesOf(RoleSet roles) {
  std::vector<std::string> names;
  for (const RoleRule& rule : kRoles) {
    if (!roles.Has(rule.role)) continue;
    if (std::find(names.begin(), names.end(), rule.actor_role) == names.end()) {
      names.emplace_back(rule.actor_role);
    }
  }
  return names;
}

bool MayGrant(PermissionSet own, RoleSet roles) {
  return own.Has(kTokenManage) && own.HasAllOf(PermissionsOf(roles));
}

}  // namespace everstep
