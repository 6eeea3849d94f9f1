#pragma once

#include "engine/embedded_log.h"
#include "queue/message_queue.h"
#include "run/logged_backend.h"

namespace everstep {

// Decides the runs of Workflow DevKit applications, together with them: their work is given out
// here, as messages, and they record what came of it.
class DevkitBackend final : public LoggedBackend {
 public:
  struct Parts {
    EmbeddedLog& log;
    MessageQueue& queue;
    Clock& clock;
    Random& random;
  };
  explicit DevkitBackend(Parts parts);

  std::string_view prefix() const override;
  // Does what the runtime's resumeHook does: records the delivery and sends a message that wakes
  // the run. Takes payloads only.
  Result<std::string> Deliver(const StoredRun& run, const HookHolder& hook,
                              const HookDelivery& delivery) override;

 private:
  const Parts parts_;
};

}  // namespace everstep
