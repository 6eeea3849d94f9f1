#include "run_order.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/sha256.h"
#include "flow/plan.h"
#include "flow/value.h"
#include "plan_file.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kStemPlanCharacters = 80;  // leaves room for the rest of a run's id
constexpr std::size_t kStemDigits = 8;

Error BadInput(std::string message) { return {ErrorCode::kInvalidInput, std::move(message), {}}; }

// The text behind "name=": for an input that is declared as text, and for what is no JSON, the text
// itself; else the JSON value.
Value ValueOfText(const Plan& plan, std::string_view name, const std::string& text) {
  const auto input = std::ranges::find(plan.inputs, name, &PlanInput::name);
  const bool is_text = input != plan.inputs.end() && input->type == "string";
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

Result<ValueMap> InputsOf(const Arguments& arguments, const Plan& plan) {
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
    Put(members, name, ValueOfText(plan, name, pair.substr(equals + 1)));
  }
  return members;
}

std::string UriOf(const std::string& file) {
  if (file == "-") return {};
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::absolute(file, failed);
  return failed ? std::string() : "file://" + path.lexically_normal().string();
}

// Run ids know fewer characters than plan ids.
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

}  // namespace

std::string RunOrder::ToJson() const {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("plan", plan);
  json.Member("uri", uri);
  json.Member("inputs", inputs);
  json.Member("stem", stem);
  json.Member("runId", run_id);
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
  order.stem = text("stem");
  order.run_id = text("runId");
  order.fresh = IsTrue(document->Get("fresh"));
  order.wake = IsTrue(document->Get("wake"));
  return order;
}

Result<RunOrder> RunOrder::Of(const Arguments& arguments) {
  const std::string& file = arguments.operands().front();
  const auto plan = ReadPlanFile(file);
  if (!plan) return plan.error();
  auto given = InputsOf(arguments, **plan);
  if (!given) return given.error();
  RunOrder order;
  order.inputs = everstep::ToJson(Value::Map(*std::move(given)));
  const auto checked = CheckInputs(**plan, order.inputs);
  if (!checked) return checked.error();
  order.plan = (*plan)->document;
  order.uri = UriOf(file);
  order.stem = StemOf(**plan, *checked, arguments);
  order.run_id = arguments.Text("run-id");
  order.fresh = arguments.Has("new");
  return order;
}

}  // namespace everstep::cli
