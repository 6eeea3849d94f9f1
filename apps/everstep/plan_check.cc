#include <string>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"
#include "base/value.h"
#include "commands.h"
#include "flow/plan.h"
#include "output.h"
#include "plan_file.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    {"workers", OptionKind::kSwitch, "",
     "accept kinds that are not tools: workers of a server run them"},
    kOutputOption};

// The result of checking a plan file.
struct Finding {
  std::string file;
  std::shared_ptr<const Plan> plan;  // null if it has faults
  Error error{ErrorCode::kInvalidPlan, "", {}};
  std::vector<PlanWarning> warnings;
};

Finding Check(const std::string& file, const PlanAudience& audience) {
  Finding finding;
  finding.file = file;
  const auto text = ReadWholeFile(file);
  if (!text) {
    finding.error = text.error();
    return finding;
  }
  auto plan = ReadPlan(*text, audience, &finding.warnings);
  if (plan) {
    finding.plan = *std::move(plan);
  } else {
    finding.error = std::move(plan).error();
  }
  return finding;
}

std::string InputsText(const Plan& plan, const Look& look) {
  if (plan.inputs.empty()) return {};
  Table table({"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"});
  for (const PlanInput& input : plan.inputs) {
    const bool has_default = !input.default_value.undefined();
    table.Add(
        {input.name, input.type.empty() ? "any" : input.type,
         has_default ? ToJson(input.default_value) : std::string(input.required ? "required" : "-"),
         input.description});
  }
  return table.TakeText(look);
}

// Returns a line for each finding, in the form that editors parse: file:line:column: message.
std::string TextOf(const Finding& finding, const Look& look) {
  std::string text;
  for (const PlanWarning& warning : finding.warnings) {
    text += Printable(PlaceOf(finding.file, warning.pointer, warning.line, warning.column)) + ": " +
            look.Paint(Colour::kYellow, "warning") + ": " + Printable(warning.message) + " [" +
            Printable(warning.code) + "]\n";
  }
  if (finding.plan != nullptr) {
    const Plan& plan = *finding.plan;
    return text + Printable(finding.file) + ": " + look.Paint(Colour::kGreen, "ok") + ": plan " +
           Printable(plan.plan_id) + " " + Printable(plan.plan_version) + ", " +
           CountText(plan.steps.size(), "step", "steps") + ", sha256 " + ToHex(plan.sha256) + "\n" +
           InputsText(plan, look);
  }
  for (const Fault& fault : finding.error.faults) {
    text += Printable(PlaceOf(finding.file, fault.pointer, fault.line, fault.column)) + ": " +
            look.Paint(Colour::kRed, "error") + ": " + Printable(fault.message) + "\n";
  }
  const std::string code(Name(finding.error.code));
  const std::string what = finding.error.faults.empty()
                               ? Printable(finding.error.message)
                               : CountText(finding.error.faults.size(), "fault", "faults");
  return text + Printable(finding.file) + ": " + look.Paint(Colour::kRed, code) + ": " + what +
         "; see 'everstep help " + code + "'\n";
}

void WriteFault(const Fault& fault, std::string_view code, JsonWriter& json) {
  json.BeginObject();
  if (!code.empty()) json.Member("code", code);
  json.Member("pointer", fault.pointer);
  if (fault.line > 0) {
    json.Member("line", std::uint64_t{fault.line});
    json.Member("column", std::uint64_t{fault.column});
  }
  json.Member("message", fault.message);
  json.EndObject();
}

void WritePlan(const Plan& plan, JsonWriter& json) {
  json.Member("planId", plan.plan_id);
  json.Member("planVersion", plan.plan_version);
  json.Member("sha256", ToHex(plan.sha256));
  json.Member("steps", std::uint64_t{plan.steps.size()});
  json.Key("inputs");
  json.BeginArray();
  for (const PlanInput& input : plan.inputs) {
    json.BeginObject();
    json.Member("name", input.name);
    if (!input.type.empty()) json.Member("type", input.type);
    if (!input.description.empty()) json.Member("description", input.description);
    json.Member("required", input.required);
    if (!input.default_value.undefined()) json.RawMember("default", ToJson(input.default_value));
    json.EndObject();
  }
  json.EndArray();
}

std::string JsonOf(const std::vector<Finding>& findings) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray();
  for (const Finding& finding : findings) {
    json.BeginObject();
    json.Member("file", finding.file);
    json.Member("ok", finding.plan != nullptr);
    if (finding.plan != nullptr) {
      WritePlan(*finding.plan, json);
    } else {
      json.Member("code", Name(finding.error.code));
      json.Member("message", finding.error.message);
    }
    json.Key("faults");
    json.BeginArray();
    for (const Fault& fault : finding.error.faults) WriteFault(fault, "", json);
    json.EndArray();
    json.Key("warnings");
    json.BeginArray();
    for (const PlanWarning& warning : finding.warnings) {
      WriteFault({warning.pointer, warning.message, warning.line, warning.column}, warning.code,
                 json);
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  return text;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const OutputForm form = FormOf(arguments);
  PlanAudience audience = EveryTool();
  audience.other_kinds = arguments.Has("workers");
  std::vector<Finding> findings;
  ExitCode code = ExitCode::kOk;
  for (const std::string& file : arguments.operands()) {
    Finding finding = Check(file, audience);
    if (finding.plan == nullptr) code = Worse(code, ExitCodeOf(finding.error.code));
    if (form == OutputForm::kTable) {
      out.Write(TextOf(finding, out.look()));
    } else {
      findings.push_back(std::move(finding));
    }
  }
  if (form != OutputForm::kTable) WriteDocument(form, JsonOf(findings), out);
  return code;
}

}  // namespace

const Command kPlanCheck{
    "plan check",
    "FILE...",
    1,
    10'000,
    "Check plans and list all faults at once, with line, column and what to do.",
    "Lists the inputs of valid plans. Exits with 3 if a plan is invalid.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
