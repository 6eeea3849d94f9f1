#include "work/task_secrets.h"

#include <string>
#include <utility>

namespace everstep {

Result<TaskSecrets> ReadSecrets(const Task& task, const Secrets* secrets) {
  TaskSecrets read;
  std::vector<std::string> to_mask;
  for (const SecretRef& ref : task.secrets) {
    if (secrets == nullptr) {
      return Error{ErrorCode::kSecretUnavailable,
                   "secret '" + ref.name + "': no secret providers are configured",
                   {}};
    }
    auto value = secrets->Get(SecretOwner::Tenant(task.scope.tenant_id), ref);
    if (!value) return std::move(value).error();
    to_mask.push_back(*value);
    read.values.emplace_back(ref.name, *std::move(value));
  }
  read.mask = std::make_shared<const SecretMask>(to_mask);
  return read;
}

}  // namespace everstep
