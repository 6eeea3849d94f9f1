#include <string>

#include "base/json.h"
#include "commands.h"
#include "data_folder.h"
#include "output.h"
#include "serve_settings.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kCheckOptions[] = {kFolderOption, kOutputOption};

std::string JsonOf(const LoadedSettings& loaded) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray();
  for (const SettingValue& value : loaded.values) {
    json.BeginObject();
    json.Member("key", value.key);
    json.Member("value", value.text);
    json.Member("source", value.source);
    json.EndObject();
  }
  json.EndArray();
  return text;
}

ExitCode Check(const Arguments& arguments, Output& out) {
  const auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  const std::string file = arguments.operands().empty() ? "" : arguments.operands().front();
  const auto loaded = SettingsFor(arguments, *folder, file);
  if (!loaded) return Fail(loaded.error(), out);
  for (const std::string& variable : loaded->strange_variables) {
    out.WriteError("everstep: warning: " + Printable(StrangeVariableText(variable)) + "\n");
  }
  if (const Status fit = CheckServable(*loaded); !fit) return Fail(fit.error(), out);
  const OutputForm form = FormOf(arguments);
  if (form != OutputForm::kTable) {
    WriteDocument(form, JsonOf(*loaded), out);
    return ExitCode::kOk;
  }
  Table table({"SETTING", "VALUE", "FROM"});
  for (const SettingValue& value : loaded->values) {
    const bool is_default = value.source == "default";
    table.Add({value.key, value.text.empty() ? "-" : value.text,
               Cell(value.source, is_default ? Colour::kDim : Colour::kBold)});
  }
  out.Write(table.TakeText(out.look()));
  return ExitCode::kOk;
}

ExitCode WriteTable(const Arguments& /*arguments*/, Output& out) {
  out.Write(SettingsMarkdown());
  return ExitCode::kOk;
}

}  // namespace

const Command kConfigCheck{
    "config check",
    "[FILE]",
    0,
    1,
    "Check the settings of a server and show each value with its source.",
    "FILE is a settings file [default: the one that 'everstep serve' would read]. A secret is\n"
    "shown as the place that it is read from.",
    kCheckOptions,
    Check,
};

const Command kConfigTable{
    "config table", "", 0, 0, "Print the table of all settings, as Markdown.", "", {}, WriteTable,
};

}  // namespace everstep::cli
