#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "everstep/result.h"
#include "net/http_message.h"
#include "wire/fields.h"

namespace everstep {

// What to do with an external event (docs/sinks.md): start a run, or deliver a payload to a hook.
// Texts and documents are templates over `event`.
struct InboundRule {
  std::string rule_id;
  std::vector<std::string> types;    // event types; "com.acme.*" matches a prefix
  std::vector<std::string> sources;  // likewise; empty matches any
  std::string when;                  // an expression
  struct Start {
    std::string plan_id;  // must be registered
    std::string plan_version;
    std::string project_id = "default";
    std::string environment_id = "default";
    std::string inputs;  // JSON; empty for none
  };
  struct Deliver {
    std::string token;
    std::string payload;  // JSON; empty for the event's data
  };
  std::optional<Start> start;
  std::optional<Deliver> deliver;
};
template <typename F>
void Describe(F& f, InboundRule::Start& start) {
  f.Required("planId", start.plan_id);
  f("planVersion", start.plan_version);
  f("projectId", start.project_id);
  f("environmentId", start.environment_id);
  f.Json("inputs", start.inputs);
}
template <typename F>
void Describe(F& f, InboundRule::Deliver& deliver) {
  f.Required("token", deliver.token);
  f.Json("payload", deliver.payload);
}
template <typename F>
void Describe(F& f, InboundRule& rule) {
  f("ruleId", rule.rule_id);
  f.Required("types", rule.types);
  f("sources", rule.sources);
  f("when", rule.when);
  f("start", rule.start);
  f("deliver", rule.deliver);
}

// An external event: CloudEvents attributes and data.
struct InboundEvent {
  std::string id;
  std::string source;
  std::string type;
  Value document;  // {id, source, type, subject, time, …, data}
};

// Accepts YAML or JSON. kInvalidJson; kSchemaValidationFailed with every fault.
Result<InboundRule> ReadInboundRule(std::string_view text, const std::string& rule_id);

// Reads the events of a request. `headers` (names in lower case) tell whether it holds CloudEvents
// in binary, structured or batch form. Any other JSON object is one event with the id `id`, its
// members "type" and "source" as type and source, and the object itself as data. kInvalidJson,
// kSchemaValidationFailed; kInvalidArgument for more than a thousand events.
Result<std::vector<InboundEvent>> ReadInboundEvents(const HttpHeaders& headers,
                                                    std::string_view body, std::string_view id);

// The action that a rule requests, with all templates rendered.
struct InboundOrder {
  std::string rule_id;
  std::string key;  // identical for the same rule and event of a tenant
  std::optional<InboundRule::Start> start;
  std::optional<InboundRule::Deliver> deliver;
};
// The id of the run that the order starts for the tenant. The same event and rule yield the same
// id; ids of different tenants never collide.
std::string InboundRunId(const std::string& tenant_id, const InboundOrder& order);
// The id used by earlier versions, which did not include the tenant.
std::string FormerInboundRunId(const InboundOrder& order);
// Limits the total cost of the events and rules of one request, in expression operations.
inline constexpr std::size_t kInboundOperationsMax = 5'000'000;
// Returns nothing if the rule does not match the event. kExpressionFailed. Deducts the cost from
// `operations_left`; once that is zero, the result is meaningless.
Result<std::optional<InboundOrder>> Apply(const InboundRule& rule, const InboundEvent& event,
                                          std::size_t& operations_left);

}  // namespace everstep
