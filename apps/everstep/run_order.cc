#include "run_order.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "actor.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/value.h"
#include "flow/plan.h"
#include "plan_file.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kStemPlanCharacters = 80;  // leaves room for the rest of the run id
constexpr std::size_t kStemDigits = 8;

Error BadInput(std::string message) { return {ErrorCode::kInvalidInput, std::move(message), {}}; }

// Returns the value of the text after "name=": the text itself if the input is declared as a string
// or the text is not JSON, otherwise the JSON value.
Value ValueOfText(const std::vector<PlanInput>& inputs, std::string_view name,
                  const std::string& text) {
  const auto input = std::ranges::find(inputs, name, &PlanInput::name);
  const bool is_text = input != inputs.end() && input->type == "string";
  if (is_text) return Value::Text(text);
  auto value = ValueFromJson(text);
  return value ? *std::move(value) : Value::Text(text);
}

void Put(ValueMap& members, std::string name, Value value) {
  const auto found = std::ranges::find(members, name, &ValueMember::first);
  if (found == members.end()) {
    members.emplace_back(std::move(name), std::move(value));
  } else {
    found->second = std::move(value);
  }
}

Result<ValueMap> GivenInputs(const Arguments& arguments, const std::vector<PlanInput>& inputs) {
  ValueMap members;
  if (const std::string& file = arguments.Text("input-file"); !file.empty()) {
    const auto text = ReadWholeFile(file);
    if (!text) return text.error();
    const auto document = ValueFromJson(*text);
    if (!document) return document.error();
    if (document->kind() != Value::Kind::kMap) return BadInput(file + " is not a JSON object");
    members = document->members();
  }
  for (const std::string& pair : arguments.List("input")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{
          ErrorCode::kInvalidArgument, "--input takes NAME=VALUE, not \"" + pair + "\"", {}};
    }
    const std::string name = pair.substr(0, equals);
    Put(members, name, ValueOfText(inputs, name, pair.substr(equals + 1)));
  }
  return members;
}

std::string UriOf(const std::string& file) {
  if (file == "-") return {};
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::absolute(file, failed);
  return failed ? std::string() : "file://" + path.lexically_normal().string();
}

// Run ids allow fewer characters than plan ids.
std::string StemOf(const Plan& plan, const Value& inputs, const Arguments& arguments) {
  std::string stem;
  for (const char c : plan.plan_id.substr(0, kStemPlanCharacters)) {
    const bool is_fit = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                        c == ':' || c == '-';
    stem.push_back(is_fit ? c : '-');
  }
  if (stem.empty() || std::isalnum(static_cast<unsigned char>(stem.front())) == 0) {
    stem.insert(0, "run-");
  }
  const auto canonical = CanonicalJson(ToJson(inputs));
  std::string all = ToHex(plan.sha256) + "\n" + (canonical ? *canonical : ToJson(inputs));
  for (const std::string_view option : {"tenant", "project", "environment"}) {
    all += "\n" + arguments.Text(option);
  }
  return stem + "-" + ToHex(Sha256(all)).substr(0, kStemDigits);
}

// Returns "'step' runs other.yaml" for the first step that runs a local file, or nothing.
std::string ChildBeside(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (!step.child || step.child->reference.empty()) continue;
    const bool is_uri = step.child->reference.find(':') < step.child->reference.find('/');
    if (!is_uri) return "'" + step.step_id + "' runs " + step.child->reference;
  }
  return {};
}

}  // namespace

std::string RunOrder::ToJson() const {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("plan", plan);
  json.Member("uri", uri);
  json.Member("inputs", inputs);
  json.Member("planId", plan_id);
  json.Member("stem", stem);
  json.Member("runId", run_id);
  json.Member("beside", beside);
  json.Member("fresh", fresh);
  json.Member("wake", wake);
  json.EndObject();
  return text;
}

Result<RunOrder> RunOrder::FromJson(std::string_view json) {
  const auto document = ValueFromJson(json);
  if (!document) return document.error();
  const auto text = [&](std::string_view name) { return ToText(document->Get(name)); };
  RunOrder order;
  order.plan = text("plan");
  order.uri = text("uri");
  order.inputs = text("inputs");
  order.plan_id = text("planId");
  order.stem = text("stem");
  order.run_id = text("runId");
  order.beside = text("beside");
  order.fresh = IsTrue(document->Get("fresh"));
  order.wake = IsTrue(document->Get("wake"));
  return order;
}

Result<RunOrder> RunOrder::Of(const Arguments& arguments) {
  const std::string& file = arguments.operands().front();
  const auto plan = ReadPlanFile(file);
  if (!plan) return plan.error();
  auto given = GivenInputs(arguments, (*plan)->inputs);
  if (!given) return given.error();
  RunOrder order;
  order.inputs = everstep::ToJson(Value::Map(*std::move(given)));
  const auto checked = CheckInputs(**plan, order.inputs);
  if (!checked) return checked.error();
  order.plan = (*plan)->document;
  order.uri = UriOf(file);
  order.plan_id = (*plan)->plan_id;
  order.beside = ChildBeside(**plan);
  order.stem = StemOf(**plan, *checked, arguments);
  order.run_id = arguments.Text("run-id");
  return order;
}

Status RunOrder::CheckForServer() const {
  if (beside.empty()) return Ok();
  return Error{ErrorCode::kInvalidPlan,
               "the step " + beside +
                   ", a local file that the server cannot read; put that plan into this one, or "
                   "refer to it by an https:// URI",
               {}};
}

Result<std::string> InputsOf(const Arguments& arguments) {
  auto given = GivenInputs(arguments, {});
  if (!given) return given.error();
  return everstep::ToJson(Value::Map(*std::move(given)));
}

Result<StartRequest> StartRequestOf(const Arguments& arguments) {
  StartRequest request;
  request.tenant_id = arguments.Text("tenant");
  request.project_id = arguments.Text("project");
  request.environment_id = arguments.Text("environment");
  request.triggered_by = LocalActor("Admin").id;
  if (!arguments.Has("priority")) return request;
  const std::string& text = arguments.Text("priority");
  std::int32_t priority = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error{ErrorCode::kInvalidArgument, "--priority takes a whole number", {}};
  }
  request.priority = priority;
  return request;
}

}  // namespace everstep::cli
