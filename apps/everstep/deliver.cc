#include <string>

#include "actor.h"
#include "base/json.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/value.h"
#include "commands.h"
#include "output.h"
#include "store_access.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"payload", OptionKind::kText, "JSON", "the payload for the step [default: null]"},
    {"approve", OptionKind::kSwitch, "", "approve, if the step waits for an approval"},
    {"reject", OptionKind::kSwitch, "", "reject, if the step waits for an approval"},
    {"comment", OptionKind::kText, "TEXT", "the reason, with --approve or --reject"},
    {"fail", OptionKind::kText, "CODE", "fail the step's attempt; its retry policy applies"},
    {"message", OptionKind::kText, "TEXT", "what went wrong, with --fail"},
    {"no-retry", OptionKind::kSwitch, "", "with --fail: another attempt would fail too"},
    {"heartbeat", OptionKind::kSwitch, "", "only say that an answer will follow"},
    {"delivery-id", OptionKind::kText, "ID", "a repeated id counts once [default: a new id]"},
    kTenantOption,
    kWaitOption,
};

Error Misused(const char* message) { return {ErrorCode::kInvalidArgument, message, {}}; }

Result<std::string> PayloadOf(const Arguments& arguments) {
  const bool decides = arguments.Has("approve") || arguments.Has("reject");
  if (arguments.Has("approve") && arguments.Has("reject")) {
    return Misused("--approve and --reject contradict each other");
  }
  if (decides && arguments.Has("payload")) {
    return Misused("--approve and --reject are payloads; leave out --payload");
  }
  if (arguments.Has("comment") && !decides) return Misused("--comment needs --approve or --reject");
  if (!decides) {
    const std::string& payload = arguments.Text("payload");
    if (!payload.empty() && !ValueFromJson(payload)) return Misused("--payload takes a JSON value");
    return payload;
  }
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("approved", arguments.Has("approve"));
  json.Member("by", LocalActor("Admin").id);
  if (arguments.Has("comment")) json.Member("comment", arguments.Text("comment"));
  json.EndObject();
  return text;
}

// --fail and --heartbeat take the place of a payload.
Status CheckKind(const Arguments& arguments) {
  const bool fails = arguments.Has("fail");
  const bool beats = arguments.Has("heartbeat");
  if (fails && beats) return Misused("--fail and --heartbeat contradict each other");
  const bool answers =
      arguments.Has("payload") || arguments.Has("approve") || arguments.Has("reject");
  if (fails && answers) return Misused("--fail takes no payload; use --message");
  if (beats && answers) return Misused("--heartbeat takes no payload");
  if (!fails && arguments.Has("message")) return Misused("--message needs --fail");
  if (!fails && arguments.Has("no-retry")) return Misused("--no-retry needs --fail");
  return Ok();
}

// Chooses the delivery id, so that a repetition is recognized.
Result<std::string> Prepare(const Arguments& arguments) {
  if (const Status sound = CheckKind(arguments); !sound) return sound.error();
  const auto payload = PayloadOf(arguments);
  if (!payload) return payload.error();
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("payload", *payload);
  json.Member("deliveryId", arguments.Has("delivery-id") ? arguments.Text("delivery-id")
                                                         : NewUuid(SystemRandom()));
  json.EndObject();
  return text;
}

ExitCode OnEngine(const EngineCall& call) {
  const auto body = ValueFromJson(call.body);
  if (!body) return Fail(body.error(), call.out);
  HookDelivery delivery;
  delivery.tenant_id = call.arguments.Text("tenant");
  delivery.token = call.arguments.operands().front();
  delivery.payload = ToText(body->Get("payload"));
  delivery.delivery_id = ToText(body->Get("deliveryId"));
  if (call.arguments.Has("heartbeat")) delivery.kind = HookDelivery::Kind::kHeartbeat;
  if (call.arguments.Has("fail")) {
    delivery.kind = HookDelivery::Kind::kFailure;
    delivery.error_code = call.arguments.Text("fail");
    delivery.error_message = call.arguments.Text("message");
    delivery.retryable = !call.arguments.Has("no-retry");
  }
  const auto run_id = call.store.Deliver(delivery);
  if (!run_id) return Fail(run_id.error(), call.out);
  call.out.Write("delivered to " + Printable(*run_id) + "\n");
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{Prepare, nullptr, OnEngine};

}  // namespace

const Command kDeliver{
    "deliver",
    "TOKEN",
    1,
    1,
    "Answer a step that waits for a token: an approval or an external event.",
    "",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
