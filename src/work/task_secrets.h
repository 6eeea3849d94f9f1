#pragma once

#include <memory>
#include <vector>

#include "everstep/result.h"
#include "run/tool.h"
#include "work/secret_inputs.h"
#include "work/secret_mask.h"
#include "work/secrets.h"

namespace everstep {

// The secrets of a task, read for one delivery of it.
struct TaskSecrets {
  SecretValues values;
  std::shared_ptr<const SecretMask> mask;
};

// kSecretUnavailable. `secrets` may be null: none are set up.
Result<TaskSecrets> ReadSecrets(const Task& task, const Secrets* secrets);

}  // namespace everstep
