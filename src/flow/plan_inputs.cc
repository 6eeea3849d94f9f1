#include <algorithm>
#include <map>

#include "flow/input_check.h"
#include "flow/nearest.h"
#include "flow/operations_done.h"
#include "flow/pattern.h"
#include "flow/plan_draft.h"

namespace everstep {
namespace {

constexpr std::string_view kInputFields[] = {
    "type",      "description", "required", "default", "enum",     "minimum", "maximum",
    "minLength", "maxLength",   "pattern",  "items",   "minItems", "maxItems"};
constexpr std::string_view kItemFields[] = {"type",    "description", "enum",      "minimum",
                                            "maximum", "minLength",   "maxLength", "pattern",
                                            "items",   "minItems",    "maxItems"};
constexpr const char* kTooMuchToCheck =
    "the patterns of the plan's inputs are together too large to compile; simplify them, or limit "
    "lengths with maxLength";
constexpr std::string_view kTypes[] = {"string", "integer", "number", "boolean", "array", "object"};

bool IsInputName(std::string_view text) {
  std::string simple(text);
  std::replace(simple.begin(), simple.end(), '-', '_');
  std::replace(simple.begin(), simple.end(), '.', '_');
  return IsSimpleName(simple) && text[0] != '-' && text[0] != '.';
}

void CheckBound(const MapReader& map, std::string_view key) {
  const auto found = map.Find(key);
  if (!found) return;
  const Node::Kind kind = found->node->kind;
  if (kind != Node::Kind::kInt && kind != Node::Kind::kDouble) {
    FaultKind(*found, "a number", map.faults());
  }
}

// Whether checking values against the declaration takes no longer than reading them.
bool IsQuickToCheck(const Node& declaration) {
  constexpr std::size_t kFewValues = 16;
  const Node* const allowed = declaration.Find("enum");
  const Node* const items = declaration.Find("items");
  return declaration.Find("pattern") == nullptr &&
         (allowed == nullptr || allowed->children().size() <= kFewValues) &&
         (items == nullptr || IsQuickToCheck(*items));
}

// Checks the keywords of a declaration that are also valid for the items of a list.
void CheckWords(const MapReader& map, const PlanReading& reading) {
  std::size_t type = 0;
  std::int64_t count = 0;
  std::string text;
  map.Word("type", kTypes, type);
  map.Text("description", text);
  CheckBound(map, "minimum");
  CheckBound(map, "maximum");
  for (const std::string_view key : {"minLength", "maxLength", "minItems", "maxItems"}) {
    map.Integer(key, 0, INT32_MAX, count);
  }
  if (const auto allowed = map.Find("enum")) {
    if (!allowed->node->is_list() || allowed->node->children().empty()) {
      FaultKind(*allowed, "a list of one value or more", map.faults());
    }
  }
  std::string pattern;
  if (map.Text("pattern", pattern)) {
    const auto parsed = Pattern::Parse(pattern, reading.input_meter);
    if (!parsed && parsed.error().code == ErrorCode::kInvalidArgument) {
      map.faults().Add(*map.Find("pattern"), "not a valid pattern: " + parsed.error().message);
    } else if (!parsed) {
      map.faults().Add(*map.Find("pattern"), kTooMuchToCheck);
    }
  }
  if (const auto items = map.Find("items")) {
    CheckWords(MapReader(*items, kItemFields, map.faults()), reading);
  }
}

void CheckDefault(const PlanInput& input, const MapReader& map, const PlanReading& reading) {
  const auto found = map.Find("default");
  if (!found) return;
  Value value = input.default_value;
  std::vector<Fault> value_faults;
  // Exceeding the budget is a fault as well.
  (void)CheckValue(input.declaration, value, "", reading.input_meter, value_faults);
  for (const Fault& fault : value_faults) {
    if (reading.faults.full()) {
      reading.faults.Add(*found, {});
      continue;
    }
    const Node& node = NodeAt(*found->node, fault.pointer);
    reading.faults.AddInText(node, found->Pointer() + fault.pointer, 0,
                             "the default " + fault.message);
  }
}

void ReadInput(PlanDraft& draft, const Place& place, const PlanReading& reading) {
  PlanFaults& faults = reading.faults;
  PlanInput& input = draft.plan->inputs.emplace_back();
  input.name = place.node->key;
  if (!IsInputName(input.name)) {
    faults.AddAtKey(place,
                    "the name of an input must have letters, digits, '_', '-' and '.' only, and "
                    "begin with a letter");
  }
  if (!place.node->is_map()) {
    return faults.Add(place, "declare the input '" + input.name +
                                 "' as a map, such as {type: string, default: …}");
  }
  const std::size_t before = faults.count();
  const MapReader map(place, kInputFields, faults);
  CheckWords(map, reading);
  map.Flag("required", input.required);
  if (faults.count() != before) return;
  map.Text("type", input.type);
  map.Text("description", input.description);
  input.declaration = ToValue(*place.node);
  if (const auto value = map.Find("default")) {
    input.default_value = ToValue(*value->node);
    if (input.required) {
      faults.Add(*value, "a required input cannot have a default; remove 'required' or 'default'");
    }
  }
  CheckDefault(input, map, reading);
  if (!IsQuickToCheck(*place.node)) draft.plan->quick_input_check = false;
}

Error InputError(std::vector<Fault> faults) {
  return Error{ErrorCode::kInvalidInput, "the inputs do not match the plan", std::move(faults)};
}

std::string PointerTo(std::string_view name) {
  std::string pointer = "/";
  for (const char c : name) {
    if (c == '~' || c == '/') {
      pointer.append(c == '~' ? "~0" : "~1");
    } else {
      pointer.push_back(c);
    }
  }
  return pointer;
}

// Takes the values out of `given`, in the order of the plan's inputs; undefined: not given.
std::vector<Value> TakeGiven(const Plan& plan, const ValueMap& given, std::vector<Fault>& unknown) {
  constexpr std::size_t kUnknownMax = 100;
  constexpr std::size_t kSuggestionsMax = 10;  // each takes long if there are many inputs
  std::vector<std::string_view> names;
  std::map<std::string_view, std::size_t> by_name;
  for (const PlanInput& input : plan.inputs) {
    by_name.emplace(input.name, names.size());
    names.push_back(input.name);
  }
  std::vector<Value> values(names.size());
  for (const auto& [name, value] : given) {
    const auto found = by_name.find(name);
    if (found != by_name.end()) {
      values[found->second] = value;
    } else if (unknown.size() < kUnknownMax) {
      const bool suggests = unknown.size() < kSuggestionsMax;
      unknown.push_back(Fault{PointerTo(name), "the plan has no input '" + name + "'" +
                                                   (suggests ? DidYouMean(name, names) : "")});
    }
  }
  return values;
}

}  // namespace

void ReadPlanInputs(PlanDraft& draft, const Place& place, const PlanReading& reading) {
  constexpr std::size_t kInputsMax = 1000;
  if (!place.node->is_map())
    return FaultKind(place, "a map from names to declarations", reading.faults);
  if (place.node->children().size() > kInputsMax) {
    return reading.faults.Add(place, "a plan has at most 1000 inputs; use a list or a map");
  }
  for (const Node& input : place.node->children()) {
    ReadInput(draft, place.Member(input), reading);
  }
}

Result<Value> CheckInputs(const Plan& plan, std::string_view given) {
  Value values = Value::Map(ValueMap{});
  if (given.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    auto parsed = ValueFromJson(given);
    if (!parsed) return InputError({Fault{"", "not JSON: " + parsed.error().message}});
    values = std::move(*parsed);
  }
  if (values.kind() != Value::Kind::kMap) {
    return InputError({Fault{"", "the inputs must be a JSON object: {\"name\": value}"}});
  }
  AddOperations(OperationsOfJson(given.size()));
  ExpressionMeter meter({.operations_max = kInputCheckOperationsMax});
  std::vector<Fault> faults;
  std::vector<Fault> unknown;
  std::vector<Value> taken = TakeGiven(plan, *values.shared_members(), unknown);
  ValueMap checked;
  bool within_budget = true;
  for (std::size_t i = 0; i < taken.size() && within_budget; ++i) {
    const PlanInput& input = plan.inputs[i];
    const std::string pointer = PointerTo(input.name);
    Value& value = taken[i];
    if (!value.undefined()) {
      within_budget = CheckValue(input.declaration, value, pointer, meter, faults);
    } else if (input.required) {
      faults.push_back(
          Fault{pointer, "the input '" + input.name + "' is missing" +
                             (input.description.empty() ? "" : ": " + input.description)});
    } else {
      value = input.default_value;
    }
    if (!value.undefined()) checked.emplace_back(input.name, std::move(value));
  }
  AddOperations(kInputCheckOperationsMax - meter.operations_left());
  std::ranges::move(unknown, std::back_inserter(faults));
  if (!faults.empty()) return InputError(std::move(faults));
  return Value::Map(std::move(checked));
}

}  // namespace everstep
