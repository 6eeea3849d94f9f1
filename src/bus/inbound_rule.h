#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "flow/value.h"
#include "net/http_message.h"
#include "wire/fields.h"

namespace everstep {

// What happens when an event of others comes in (docs/sinks.md): a run is started, or a hook gets a
// payload. Texts and documents are templates over `event`.
struct InboundRule {
  std::string rule_id;
  std::vector<std::string> types;    // of the event; "com.acme.*" for all that begin so
  std::vector<std::string> sources;  // likewise; empty: any
  std::string when;                  // an expression
  struct Start {
    std::string plan_id;  // registered
    std::string plan_version;
    std::string project_id = "default";
    std::string environment_id = "default";
    std::string inputs;  // JSON; empty: none
  };
  struct Deliver {
    std::string token;
    std::string payload;  // JSON; empty: the event's data
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

// An event from outside: CloudEvents' attributes and data.
struct InboundEvent {
  std::string id;
  std::string source;
  std::string type;
  Value document;  // {id, source, type, subject, time, …, data}
};

// YAML or JSON. kInvalidJson, kSchemaValidationFailed with every fault.
Result<InboundRule> ReadInboundRule(std::string_view text, const std::string& rule_id);

// The events of a request: CloudEvents, binary, structured or as a batch, by its headers (names in
// lower case); any other JSON object is one event with the id `id`, type and source of its members
// "type" and "source", and itself as data. kInvalidJson, kSchemaValidationFailed; kInvalidArgument:
// more than a thousand.
Result<std::vector<InboundEvent>> ReadInboundEvents(const HttpHeaders& headers,
                                                    std::string_view body, std::string_view id);

// What a rule asks for, with everything rendered.
struct InboundOrder {
  std::string rule_id;
  std::string key;  // the same for the same rule and event of a tenant
  std::optional<InboundRule::Start> start;
  std::optional<InboundRule::Deliver> deliver;
};
// The id of the run that the order starts for the tenant: the same event of the same rule gives the
// same run, and another tenant's never does.
std::string InboundRunId(const std::string& tenant_id, const InboundOrder& order);
// As earlier versions named it, without the tenant.
std::string FormerInboundRunId(const InboundOrder& order);
// What the events and rules of one request may cost together, in operations of expressions.
inline constexpr std::size_t kInboundOperationsMax = 5'000'000;
// Nothing: the rule is not for this event. kExpressionFailed. What it costs is taken from
// `operations_left`; when that is used up, it is zero and the answer means nothing.
Result<std::optional<InboundOrder>> Apply(const InboundRule& rule, const InboundEvent& event,
                                          std::size_t& operations_left);

}  // namespace everstep
