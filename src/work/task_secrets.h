#pragma once

#include <memory>
#include <vector>

#include "everstep/result.h"
#include "run/tool.h"
#include "work/secret_inputs.h"
#include "work/secret_mask.h"
#include "work/secrets.h"

namespace everstep {

// The secret values of a task, read for one delivery.
struct TaskSecrets {
  SecretValues values;
  std::shared_ptr<const SecretMask> mask;
};

// Returns kSecretUnavailable if a secret cannot be read. `secrets` may be null, in which case tasks
// with secrets fail.
Result<TaskSecrets> ReadSecrets(const Task& task, const Secrets* secrets);

}  // namespace everstep
