#include "event/idempotency_key.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <string>

#include "event/catalogue.h"

namespace everstep {
namespace {

// Reuses one buffer per thread for the joined text.
Sha256Digest DigestOfJoined(std::initializer_list<std::string_view> fields) {
  thread_local std::string text;
  text.clear();
  for (const std::string_view field : fields) {
    text.append(field);
    text.push_back('|');
  }
  return Sha256(std::string_view(text).substr(0, text.size() - 1));
}

std::string_view InstanceOf(const Event& event) {
  if (SpecOf(event.type).entity == EntityKind::kRun) return "RUN";
  return event.instance_id.empty() ? event.entity_id : event.instance_id;
}

}  // namespace

Sha256Digest IdempotencyKey(KeyVersion version, const KeyFields& fields) {
  std::array<char, 10> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), fields.logical_attempt).ptr;
  const std::string_view attempt(digits.begin(), end);
  if (version == KeyVersion::kV1) {
    return DigestOfJoined(
        {fields.run_id, fields.instance, attempt, fields.event_type, fields.plan_version});
  }
  return DigestOfJoined({fields.run_id, fields.instance, attempt, fields.event_type, fields.plan_id,
                         fields.plan_version});
}

Sha256Digest IdempotencyKey(KeyVersion version, const RunId& run_id, const RunScope& scope,
                            const Event& event) {
  return IdempotencyKey(version, {run_id.value(), InstanceOf(event), event.logical_attempt,
                                  SpecOf(event.type).name, scope.plan_id, scope.plan_version});
}

bool HaveSameKey(const Event& a, const Event& b) {
  return a.type == b.type && a.logical_attempt == b.logical_attempt &&
         InstanceOf(a) == InstanceOf(b);
}

Sha256Digest RunRequestKey(const RunScope& scope, std::string_view run_request_id) {
  return DigestOfJoined({scope.tenant_id, scope.project_id, scope.environment_id, scope.plan_id,
                         scope.plan_version, run_request_id});
}

}  // namespace everstep
