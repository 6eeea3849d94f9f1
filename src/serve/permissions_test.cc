#include "serve/permissions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace everstep {
namespace {

std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    std::erase_if(cell, [](char c) { return c == ' ' || c == '`'; });
    cells.push_back(cell);
  }
  return cells;
}

TEST(PermissionsTest, TheTableInTheDocsMatchesTheCode) {
  std::ifstream page(EVERSTEP_SOURCE_DIR "/docs/security.md");
  ASSERT_TRUE(page);
  std::vector<std::string> roles;
  std::map<std::string, std::set<std::string>> rows;  // permission -> roles
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("|")) continue;
    const auto cells = CellsOf(line);
    if (cells.front() == "Permission") roles = cells;
    if (cells.front().find('.') == std::string::npos || cells.size() != roles.size()) continue;
    auto& row = rows[cells.front()];
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (cells[i] == "✓") row.insert(roles[i]);
    }
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kPermissionCount));
  for (int i = 0; i < kPermissionCount; ++i) {
    const auto permission = static_cast<Permission>(i);
    std::set<std::string> wanted;
    for (const RoleRule& rule : RoleRules()) {
      if (rule.permissions.Has(permission)) wanted.emplace(rule.name);
    }
    EXPECT_EQ(rows[std::string(Name(permission))], wanted) << Name(permission);
  }
}

TEST(PermissionsTest, EveryRoleIsFoundByItsName) {
  for (const RoleRule& rule : RoleRules()) EXPECT_EQ(RoleFromName(rule.name), rule.role);
  EXPECT_EQ(RoleFromName("Admin"), std::nullopt);
  EXPECT_EQ(RoleFromName(""), std::nullopt);
}

TEST(PermissionsTest, WithoutARoleThereAreNoPermissions) {
  EXPECT_TRUE(PermissionsOf(RoleSet()).empty());
  EXPECT_TRUE(ActorRolesOf(RoleSet()).empty());
}

TEST(PermissionsTest, AViewerHasNoWritePermissions) {
  const PermissionSet viewer = PermissionsOf(RoleSet(Role::kViewer));
  for (int i = 0; i < kPermissionCount; ++i) {
    const auto permission = static_cast<Permission>(i);
    if (viewer.Has(permission)) {
      EXPECT_TRUE(Name(permission).ends_with(".read")) << Name(permission);
    }
  }
  EXPECT_FALSE(viewer.Has(Permission::kAuditRead));
}

TEST(PermissionsTest, OnlyAdminsMayAccessOtherTenants) {
  for (const RoleRule& rule : RoleRules()) {
    EXPECT_EQ(rule.permissions.Has(Permission::kTenantAny), rule.role == Role::kAdmin) << rule.name;
  }
}

TEST(PermissionsTest, RolesAddUpAndEngineRolesAreNotRepeated) {
  const RoleSet roles(Role::kPlanAuthor, Role::kAuditor, Role::kOperator);
  EXPECT_TRUE(PermissionsOf(roles).Has(Permission::kPlanWrite));
  EXPECT_TRUE(PermissionsOf(roles).Has(Permission::kAuditRead));
  EXPECT_EQ(ActorRolesOf(roles), (std::vector<std::string>{"Operator", "Viewer"}));
  EXPECT_EQ(ActorRolesOf(RoleSet(Role::kTenantAdmin)), (std::vector<std::string>{"Admin"}));
}

TEST(PermissionsTest, NobodyGrantsMoreThanTheyHave) {
  const PermissionSet tenant_admin = PermissionsOf(RoleSet(Role::kTenantAdmin));
  EXPECT_TRUE(MayGrant(tenant_admin, RoleSet(Role::kEngineer, Role::kSystem)));
  EXPECT_TRUE(MayGrant(tenant_admin, RoleSet(Role::kTenantAdmin)));
  EXPECT_FALSE(MayGrant(tenant_admin, RoleSet(Role::kAdmin)));
  EXPECT_FALSE(MayGrant(PermissionsOf(RoleSet(Role::kEngineer)), RoleSet(Role::kViewer)));
}

}  // namespace
}  // namespace everstep
