#include "bus/inbound_rule.h"

#include <algorithm>

#include "base/sha256.h"
#include "bus/event_name.h"
#include "event/identifier.h"
#include "flow/document.h"
#include "flow/template.h"
#include "wire/wire.h"

namespace everstep {
namespace {

constexpr std::size_t kRuleBytesMax = 64 << 10;
constexpr std::size_t kEventsMax = 1'000;
constexpr std::size_t kAttributeBytesMax = 1'024;

bool MatchesOne(const std::vector<std::string>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [text](const std::string& pattern) {
    if (!pattern.ends_with('*')) return pattern == text;
    return text.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

void CheckTemplate(const std::string& pointer, const Result<Value>& source,
                   std::vector<Fault>& faults) {
  if (!source) {
    faults.push_back({pointer, source.error().message});
    return;
  }
  std::vector<Template::Fault> found;
  if (Template::Compile(*source, &found)) return;
  for (const Template::Fault& fault : found) {
    faults.push_back({pointer + fault.pointer, fault.message});
  }
}

void Check(const InboundRule& rule, std::vector<Fault>& faults) {
  if (!IsIdentifier(rule.rule_id)) {
    faults.push_back({"/ruleId", "must be 1 to 128 of A-Z a-z 0-9 . _ : -"});
  }
  if (rule.types.empty())
    faults.push_back({"/types", "must name at least one; \"*\" is every type"});
  if (rule.types.size() > 100) faults.push_back({"/types", "has more than 100 items"});
  if (rule.sources.size() > 100) faults.push_back({"/sources", "has more than 100 items"});
  if (rule.start.has_value() == rule.deliver.has_value()) {
    faults.push_back({"", "needs exactly one of start and deliver"});
  }
  if (!rule.when.empty()) {
    std::vector<Template::Fault> found;
    if (!Template::Condition(rule.when, &found)) {
      faults.push_back({"/when", found.empty() ? "is not an expression" : found.front().message});
    }
  }
  if (rule.start) {
    if (!IsName(rule.start->plan_id)) faults.push_back({"/start/planId", "is not a valid plan id"});
    if (!rule.start->inputs.empty()) {
      CheckTemplate("/start/inputs", ValueFromJson(rule.start->inputs), faults);
    }
  }
  if (rule.deliver) {
    CheckTemplate("/deliver/token", Value::Text(rule.deliver->token), faults);
    if (!rule.deliver->payload.empty()) {
      CheckTemplate("/deliver/payload", ValueFromJson(rule.deliver->payload), faults);
    }
  }
}

// What executing an order costs in addition: a durable write.
constexpr std::size_t kOrderOperations = 1'000;

bool Take(std::size_t operations, std::size_t& left) {
  const bool enough = operations < left;
  left = enough ? left - operations : 0;
  return enough;
}

Error OverBudget() {
  return {ErrorCode::kExpressionFailed,
          "evaluating the rules for these events exceeds the limit of one request",
          {}};
}

// Compiling a text takes about as long as two operations per byte.
std::size_t CompileCost(std::string_view text) { return 2 * text.size(); }

Result<std::string> Rendered(const Value& source, const Names& names,
                             const ExpressionLimits& limits) {
  const auto compiled = Template::Compile(source);
  if (!compiled) return compiled.error();
  const auto value = compiled->Render(names, limits);
  if (!value) return value.error();
  return ToJson(*value);
}

Result<InboundEvent> EventOf(Value document) {
  InboundEvent event;
  Error error{ErrorCode::kSchemaValidationFailed, "invalid CloudEvent", {}};
  const auto take = [&](const char* name, std::string& to) {
    const Value value = document.Get(name);
    if (value.kind() == Value::Kind::kText && !value.text().empty() &&
        value.text().size() <= kAttributeBytesMax) {
      to = value.text();
    } else {
      error.faults.push_back({"/" + std::string(name), "must be a string of 1 to 1024 bytes"});
    }
  };
  take("id", event.id);
  take("source", event.source);
  take("type", event.type);
  if (!error.faults.empty()) return error;
  event.document = std::move(document);
  return event;
}

std::string_view HeaderOf(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

Result<InboundEvent> BinaryEvent(const HttpHeaders& headers, std::string_view body) {
  ValueMap members;
  for (const auto& [name, value] : headers) {
    if (!name.starts_with("ce-")) continue;
    const std::string key = name.substr(3);
    const bool twice = std::ranges::any_of(members, [&](const auto& m) { return m.first == key; });
    if (!twice) members.emplace_back(key, Value::Text(value));
  }
  auto data = body.empty() ? Result<Value>(Value::Null()) : ValueFromJson(body);
  if (!data) return std::move(data).error();
  members.emplace_back("data", *std::move(data));
  return EventOf(Value::Map(std::move(members)));
}

Result<InboundEvent> PlainEvent(const Value& body, std::string_view id) {
  if (body.kind() != Value::Kind::kMap) {
    return Error{ErrorCode::kSchemaValidationFailed, "an event must be a JSON object", {}};
  }
  const auto text = [&](const char* name, const char* otherwise) {
    const Value value = body.Get(name);
    return value.kind() == Value::Kind::kText ? value : Value::Text(otherwise);
  };
  return EventOf(Value::Map(ValueMap{{"id", Value::Text(std::string(id))},
                                     {"source", text("source", "webhook")},
                                     {"type", text("type", "webhook")},
                                     {"data", body}}));
}

}  // namespace

Result<InboundRule> ReadInboundRule(std::string_view text, const std::string& rule_id) {
  const auto document = ParseDocument(text, kRuleBytesMax);
  if (!document || !document->faults.empty()) {
    Error error{ErrorCode::kInvalidJson, "cannot parse the rule definition", {}};
    error.faults = document ? document->faults : document.error().faults;
    return error;
  }
  auto rule = FromWire<InboundRule>(ToJson(document->root), UnknownMembers::kRefuse);
  if (!rule) return rule;
  Error error{ErrorCode::kSchemaValidationFailed, "invalid rule definition", {}};
  if (rule->rule_id.empty()) rule->rule_id = rule_id;
  if (rule->rule_id != rule_id) {
    error.faults.push_back({"/ruleId", "must be " + rule_id + ", or left out"});
  }
  Check(*rule, error.faults);
  if (!error.faults.empty()) return error;
  return rule;
}

Result<std::vector<InboundEvent>> ReadInboundEvents(const HttpHeaders& headers,
                                                    std::string_view body, std::string_view id) {
  std::vector<InboundEvent> events;
  const auto add = [&events](Result<InboundEvent> event) {
    if (!event) return Status(std::move(event).error());
    events.push_back(*std::move(event));
    return Ok();
  };
  const std::string_view type = HeaderOf(headers, "content-type");
  if (!HeaderOf(headers, "ce-specversion").empty()) {
    const Status added = add(BinaryEvent(headers, body));
    if (!added) return added.error();
    return events;
  }
  auto document = ValueFromJson(body);
  if (!document) return std::move(document).error();
  if (type.starts_with("application/cloudevents-batch+json")) {
    if (document->kind() != Value::Kind::kList) {
      return Error{ErrorCode::kSchemaValidationFailed, "a batch must be a list of CloudEvents", {}};
    }
    if (document->list().size() > kEventsMax) {
      return Error{ErrorCode::kInvalidArgument, "a batch must have at most 1000 events", {}};
    }
    for (const Value& item : document->list()) {
      const Status added = add(EventOf(item));
      if (!added) return added.error();
    }
    return events;
  }
  const bool structured = type.starts_with("application/cloudevents+json");
  const Status added = add(structured ? EventOf(*document) : PlainEvent(*document, id));
  if (!added) return added.error();
  return events;
}

std::string InboundRunId(const std::string& tenant_id, const InboundOrder& order) {
  return "in-" + ToHex(Sha256(tenant_id + "\n" + order.key)).substr(0, 32);
}

std::string FormerInboundRunId(const InboundOrder& order) { return "in-" + order.key; }

Result<std::optional<InboundOrder>> Apply(const InboundRule& rule, const InboundEvent& event,
                                          std::size_t& operations_left) {
  const std::optional<InboundOrder> none;
  if (!Take(1 + rule.types.size() + rule.sources.size(), operations_left)) return OverBudget();
  if (!MatchesOne(rule.types, event.type)) return none;
  if (!rule.sources.empty() && !MatchesOne(rule.sources, event.source)) return none;
  const EventName names(event.document);
  ExpressionLimits limits;
  limits.operations_left = &operations_left;
  if (!rule.when.empty()) {
    if (!Take(CompileCost(rule.when), operations_left)) return OverBudget();
    const auto condition = Template::Condition(rule.when);
    if (!condition) return condition.error();
    const auto chosen = condition->Render(names, limits);
    if (!chosen) return chosen.error();
    if (!IsTrue(*chosen)) return none;
  }
  InboundOrder order;
  order.rule_id = rule.rule_id;
  // In CloudEvents, source and id together identify an event.
  order.key = ToHex(Sha256(rule.rule_id + "\n" + event.source + "\n" + event.id)).substr(0, 32);
  order.start = rule.start;
  order.deliver = rule.deliver;
  const std::string_view document = order.start     ? std::string_view(order.start->inputs)
                                    : order.deliver ? std::string_view(order.deliver->payload)
                                                    : std::string_view();
  if (!Take(kOrderOperations + CompileCost(document), operations_left)) return OverBudget();
  if (order.start && !order.start->inputs.empty()) {
    auto inputs = Rendered(*ValueFromJson(order.start->inputs), names, limits);
    if (!inputs) return std::move(inputs).error();
    order.start->inputs = *std::move(inputs);
  }
  if (order.deliver) {
    const auto token = Template::Compile(Value::Text(order.deliver->token))->Render(names, limits);
    if (!token) return token.error();
    order.deliver->token = ToText(*token);
    if (order.deliver->payload.empty()) {
      order.deliver->payload = ToJson(event.document.Get("data"));
      if (!Take(order.deliver->payload.size() / 64, operations_left)) return OverBudget();
    } else {
      auto payload = Rendered(*ValueFromJson(order.deliver->payload), names, limits);
      if (!payload) return std::move(payload).error();
      order.deliver->payload = *std::move(payload);
    }
  }
  return std::optional(std::move(order));
}

}  // namespace everstep
