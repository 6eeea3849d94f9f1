#include "serve/tenant_storage.h"

namespace everstep {

Status TenantStorage::Check(const std::string& tenant_id, std::uint64_t more) {
  if (bytes_max_ == 0) return Ok();
  const std::uint64_t stored = store_.Read()->Counts(tenant_id).bytes();
  if (stored < bytes_max_ && more <= bytes_max_ - stored) return Ok();
  return Error{ErrorCode::kTenantFull,
               "the tenant has stored " + std::to_string(stored) +
                   " bytes of events, documents and artifacts; limits.tenantDisk allows " +
                   std::to_string(bytes_max_),
               {}};
}

}  // namespace everstep
