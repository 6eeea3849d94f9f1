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

// Chooses the delivery id, so that a repetition is recognized.
Result<std::string> Prepare(const Arguments& arguments) {
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
