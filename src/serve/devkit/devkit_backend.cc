#include "serve/devkit/devkit_backend.h"

#include <utility>

#include "base/cbor.h"
#include "serve/devkit/devalue.h"
#include "serve/devkit/stalled_run.h"
#include "serve/devkit/world_order.h"

namespace everstep {

DevkitBackend::DevkitBackend(Parts parts)
    : LoggedBackend({parts.log.store(), parts.log.authority(), parts.clock, parts.random},
                    Pauses::kAtOnce),
      parts_(parts) {}

std::string_view DevkitBackend::prefix() const { return kDevkitEngine; }

Result<std::string> DevkitBackend::Deliver(const StoredRun& run, const HookHolder& hook,
                                           const HookDelivery& delivery) {
  if (delivery.kind != HookDelivery::Kind::kPayload) {
    return Error{ErrorCode::kCapabilityNotSupported,
                 "the hook of an application takes payloads only, no failures and no heartbeats",
                 {}};
  }
  const auto value = delivery.payload.empty() ? Value() : ValueFromJson(delivery.payload);
  if (!value) return value.error();
  const auto payload = DevaluePayload(*value);
  if (!payload) return payload.error();
  std::string bytes;
  CborWriter cbor(bytes);
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("type", "hook_received");
  cbor.Member("correlationId", hook.hook_id);
  cbor.Member("requestId", delivery.delivery_id);
  cbor.Member("specVersion", SpecOf(run.state));
  cbor.Key("data");
  cbor.BeginMap();
  cbor.Member("token", delivery.token);
  cbor.Key("payload");
  cbor.Bytes(*payload);
  cbor.End();
  cbor.End();
  WorldOrder order;
  const WorldCaller caller{delivery.tenant_id, UINT32_MAX, parts_.clock.Now(), {}};
  if (auto bad = WorldOrder::Read(*ParseCbor(bytes), caller, {}, order)) {
    return Error{ErrorCode::kInvalidArgument, std::move(bad->message), {}};
  }
  const AppendOrder append{run.run_id, {}, &order};
  AppendAuthority& authority = parts_.log.authority();
  const auto placed = authority.Await(authority.Submit(std::span(&append, 1), {}));
  if (!placed[0] && order.refusal()) {
    return Error{ErrorCode::kHookNotFound, "no hook waits for this token", {}};
  }
  if (!placed[0]) return placed[0].error();
  // Resend on duplicates too: the earlier message may never have been sent, and an extra wake-up is
  // harmless.
  const auto sent = parts_.queue.Send({ReplayMessage(run)});
  if (!sent) return sent.error();
  return run.run_id.value();
}

}  // namespace everstep
