#pragma once

#include <string_view>

#include "base/sha256.h"
#include "event/event.h"

namespace everstep {

// SHA-256 of the fields joined by '|':
//   v1: runId|instance|logicalAttemptId|eventType|planVersion
//   v2: runId|instance|logicalAttemptId|eventType|planId|planVersion
// `instance` is "RUN" for events of the run itself, otherwise the event's instance_id or, if that
// is empty, its entity_id.
struct KeyFields {
  std::string_view run_id;
  std::string_view instance;
  std::uint32_t logical_attempt;
  std::string_view event_type;
  std::string_view plan_id;
  std::string_view plan_version;
};

Sha256Digest IdempotencyKey(KeyVersion version, const KeyFields& fields);

// The key of a placed event.
Sha256Digest IdempotencyKey(KeyVersion version, const RunId& run_id, const RunScope& scope,
                            const Event& event);

// Returns whether two placed events of one run have the same key, without computing it.
bool HaveSameKey(const Event& a, const Event& b);

// SHA-256 of tenantId|projectId|environmentId|planId|planVersion|runRequestId. Identifies a request
// to start a run.
Sha256Digest RunRequestKey(const RunScope& scope, std::string_view run_request_id);

}  // namespace everstep
