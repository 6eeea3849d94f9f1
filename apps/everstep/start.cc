#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/value.h"
#include "commands.h"
#include "output.h"
#include "run_order.h"
#include "store_access.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"input", OptionKind::kList, "NAME=VALUE", "an input of the plan; any number of times"},
    {"input-file", OptionKind::kText, "FILE", "inputs as a JSON object; --input takes precedence"},
    {"run-id", OptionKind::kText, "ID", "the run [default: a new id]"},
    kTenantOption,
    {"project", OptionKind::kText, "ID", "the project", "default"},
    {"environment", OptionKind::kText, "ID", "the environment", "default"},
    {"priority", OptionKind::kText, "N", "overrides the priority of the plan; larger is first"},
    kWaitOption,
};

bool IsFile(const std::string& operand) {
  std::error_code failed;
  return operand == "-" || operand.find('/') != std::string::npos || operand.ends_with(".yaml") ||
         operand.ends_with(".yml") || operand.ends_with(".json") ||
         std::filesystem::exists(operand, failed);
}

// Reads plan and inputs and chooses the request id, so that a repetition is recognized.
Result<std::string> Prepare(const Arguments& arguments) {
  const std::string& operand = arguments.operands().front();
  RunOrder order;
  std::string version;
  if (IsFile(operand)) {
    auto read = RunOrder::Of(arguments);
    if (!read) return std::move(read).error();
    order = *std::move(read);
  } else {
    auto inputs = InputsOf(arguments);
    if (!inputs) return std::move(inputs).error();
    order.inputs = *std::move(inputs);
    const std::size_t at = operand.rfind('@');
    order.plan_id = operand.substr(0, at);
    if (at != std::string::npos) version = operand.substr(at + 1);
  }
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.RawMember("order", order.ToJson());
  json.Member("version", version);
  json.Member("requestId", NewUuid(SystemRandom()));
  json.EndObject();
  return text;
}

Result<StartRequest> RequestOf(const EngineCall& call) {
  const auto body = ValueFromJson(call.body);
  if (!body) return body.error();
  const auto order = RunOrder::FromJson(ToJson(body->Get("order")));
  if (!order) return order.error();
  auto request = StartRequestOf(call.arguments);
  if (!request) return request;
  request->inputs = order->inputs;
  request->run_id = call.arguments.Text("run-id");
  // With a given run id a repetition is recognized by that id.
  if (request->run_id.empty()) request->request_id = ToText(body->Get("requestId"));
  if (!order->plan.empty()) {
    request->plan = order->plan;
    request->plan_uri = order->uri;
    if (call.elsewhere) {
      if (const Status fit = order->CheckForServer(); !fit) return fit.error();
    }
    return request;
  }
  if (!call.elsewhere) {
    return Error{ErrorCode::kPlanUnavailable,
                 "there is no file " + order->plan_id +
                     "; to start a registered plan by its id, name a server (--server URL)",
                 {}};
  }
  request->plan_ref = PlanRef{{}, {}, {}, order->plan_id, ToText(body->Get("version"))};
  return request;
}

ExitCode OnEngine(const EngineCall& call) {
  const auto request = RequestOf(call);
  if (!request) return Fail(request.error(), call.out);
  const auto started = call.store.Start(*request);
  if (!started) return Fail(started.error(), call.out);
  call.out.Write(Printable(started->run_id) + "\n");
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{Prepare, nullptr, OnEngine};

}  // namespace

const Command kStart{
    "start",
    "FILE|PLAN",
    1,
    1,
    "Start a run of a plan and print the run id, without waiting for its end.",
    "PLAN is a plan that is registered with the server: ID or ID@VERSION. The server, or the\n"
    "process that has the data folder open, runs it. If no process has the folder open, the run\n"
    "is recorded and begins when 'run' or 'serve' opens the folder.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
