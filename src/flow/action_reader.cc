#include "flow/action_reader.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::string_view kRetryFields[] = {"maxAttempts", "backoff", "initialDelay",
                                             "maxDelay",    "jitter",  "retryOn"};
constexpr std::string_view kBackoffs[] = {"none", "linear", "exponential"};
constexpr std::string_view kSecretFields[] = {"name", "provider", "key", "version"};
constexpr std::string_view kProviders[] = {"env", "file"};

void ReadJitter(const MapReader& map, double& jitter) {
  const auto found = map.Find("jitter");
  if (!found) return;
  const Node& node = *found->node;
  double value = -1;
  if (node.kind == Node::Kind::kBool) {
    value = node.bool_value() ? 1 : 0;
  } else if (node.kind == Node::Kind::kInt) {
    value = static_cast<double>(node.int_value());
  } else if (node.kind == Node::Kind::kDouble) {
    value = node.double_value();
  } else {
    return FaultKind(*found, "a number from 0 to 1, or true for 1", map.faults());
  }
  if (!(value >= 0 && value <= 1)) {
    return map.faults().Add(*found, "'jitter', the random share of the delay, must be from 0 to 1");
  }
  jitter = value;
}

void ReadDelays(const MapReader& map, RetryRule& rule) {
  const auto initial = map.Find("initialDelay");
  const auto max = map.Find("maxDelay");
  if (initial) {
    rule.initial_delay = ReadDuration(*initial, map.faults()).value_or(rule.initial_delay);
  } else if (rule.backoff == RetryRule::Backoff::kNone) {
    rule.initial_delay = Milliseconds(0);
  }
  if (!max) {
    rule.max_delay = std::max(rule.max_delay, rule.initial_delay);
    return;
  }
  rule.max_delay = ReadDuration(*max, map.faults()).value_or(rule.max_delay);
  if (rule.max_delay >= rule.initial_delay) return;
  if (initial) {
    map.faults().Add(*max, "'maxDelay' is shorter than 'initialDelay'; make it at least as long");
  } else {
    rule.initial_delay = rule.max_delay;
  }
}

void ReadRetryPolicy(const Place& place, Action& action, PlanFaults& faults) {
  const MapReader map(place, kRetryFields, faults);
  std::int64_t attempts = 1;
  (void)map.Require("maxAttempts", "the total number of attempts, including the first");
  map.Integer("maxAttempts", 1, kAttemptsMax, attempts);
  action.attempts_max = static_cast<std::uint32_t>(attempts);
  RetryRule& rule = action.retry_rules.emplace_back();
  auto backoff = static_cast<std::size_t>(rule.backoff);
  map.Word("backoff", kBackoffs, backoff);
  rule.backoff = static_cast<RetryRule::Backoff>(backoff);
  ReadDelays(map, rule);
  ReadJitter(map, rule.jitter);
  map.Texts("retryOn", rule.error_codes);
}

void ReadSecret(const Place& place, std::vector<SecretRef>& secrets, PlanFaults& faults) {
  const MapReader map(place, kSecretFields, faults);
  SecretRef secret;
  std::size_t provider = 0;
  const auto name = map.Require("name", "inputs refer to the secret by it: {{ secrets.name }}");
  (void)map.Require("provider", "where the value comes from, env or file");
  if (map.Text("name", secret.name) && !IsSimpleName(secret.name)) {
    faults.Add(
        *name,
        "the name of a secret must have letters, digits and '_' only, and not begin with a digit");
  }
  map.Word("provider", kProviders, provider);
  secret.provider = kProviders[provider];
  secret.key = secret.name;
  map.Name("key", secret.key);
  map.Name("version", secret.version);
  for (const SecretRef& other : secrets) {
    if (name && other.name == secret.name) {
      faults.Add(*name, "the secret '" + secret.name + "' is listed twice; remove one of them");
      return;
    }
  }
  secrets.push_back(std::move(secret));
}

void ReadSecrets(const MapReader& map, std::vector<SecretRef>& secrets) {
  constexpr std::size_t kSecretsMax = 100;
  const auto found = map.Find("secretRefs");
  if (!found) return;
  if (!found->node->is_list()) return FaultKind(*found, "a list", map.faults());
  const std::size_t count = found->node->children().size();
  if (count > kSecretsMax) {
    return map.faults().Add(*found, "a step can have at most 100 secrets; remove some of them");
  }
  for (std::size_t i = 0; i < count; ++i) ReadSecret(found->Item(i), secrets, map.faults());
}

void ReadKey(const MapReader& map, std::string_view key, TemplateReader& templates,
             TemplateRole role, Template& field) {
  const auto found = map.Find(key);
  if (!found) return;
  if (!found->node->is_text()) return FaultKind(*found, "text", map.faults());
  if (found->node->text().empty()) {
    return map.faults().Add(*found,
                            "'" + std::string(key) + "' is empty; give it a value or leave it out");
  }
  field = templates.Read(*found, role);
}

}  // namespace

const Template& EmptyMapTemplate() {
  static const Template kEmpty = [] {
    auto compiled = Template::Compile(Value::Map(ValueMap{}));
    EVERSTEP_ASSERT(compiled);
    return std::move(*compiled);
  }();
  return kEmpty;
}

bool ReadKind(const Place& place, std::string& field, PlanFaults& faults) {
  if (!place.node->is_text()) {
    FaultKind(place, "text, the name of a tool", faults);
    return false;
  }
  const std::string_view text = place.node->text();
  std::string simple(text);
  std::replace(simple.begin(), simple.end(), '-', '_');
  std::replace(simple.begin(), simple.end(), '.', '_');
  if (!IsSimpleName(simple) || text[0] == '-' || text[0] == '.') {
    faults.Add(place,
               "the name of a tool must have letters, digits, '.', '_' and '-' only, and begin "
               "with a letter");
    return false;
  }
  field = text;
  return true;
}

void ReadAction(const MapReader& map, TemplateReader& templates, TemplateRole key_role,
                Action& action) {
  map.Duration("timeout", action.timeout);
  map.Duration("heartbeatTimeout", action.heartbeat_timeout);
  if (const auto retry = map.Find("retryPolicy")) {
    ReadRetryPolicy(*retry, action, map.faults());
  }
  ReadSecrets(map, action.secrets);
  map.Name("queue", action.queue);
  std::int64_t priority = 0;
  map.Integer("priority", kPriorityMin, kPriorityMax, priority);
  action.priority = static_cast<std::int32_t>(priority);
  map.Flag("cancellable", action.cancellable);
  ReadKey(map, "concurrencyKey", templates, key_role, action.concurrency_key);
  ReadKey(map, "idempotencyKey", templates, key_role, action.idempotency_key);
}

}  // namespace everstep
