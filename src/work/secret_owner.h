#pragma once

#include <string>
#include <string_view>

namespace everstep {

// The owner of secrets: one tenant, or the server for its own settings. Tenants see neither each
// other's secrets nor the server's.
class SecretOwner {
 public:
  static SecretOwner Tenant(std::string_view tenant_id) { return {false, tenant_id}; }
  static SecretOwner Server() { return {true, {}}; }

  bool is_server() const { return is_server_; }
  const std::string& tenant_id() const { return tenant_id_; }  // empty for the server

  bool operator==(const SecretOwner&) const = default;
  auto operator<=>(const SecretOwner&) const = default;

 private:
  SecretOwner(bool is_server, std::string_view tenant_id)
      : is_server_(is_server), tenant_id_(tenant_id) {}

  bool is_server_;
  std::string tenant_id_;
};

}  // namespace everstep
