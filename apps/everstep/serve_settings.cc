#include "serve_settings.h"

#include <algorithm>
#include <filesystem>

#include "base/environment.h"
#include "plan_file.h"

namespace everstep::cli {
namespace {

OptionKind KindOf(SettingShape shape) {
  if (shape == SettingShape::kSwitch) return OptionKind::kSwitch;
  return IsList(shape) ? OptionKind::kList : OptionKind::kText;
}

std::string_view ValueOf(const Setting& setting) {
  if (setting.key == "listen") return "HOST:PORT";
  switch (setting.shape) {
    case SettingShape::kSwitch:
      return "";
    case SettingShape::kFile:
      return "FILE";
    case SettingShape::kDuration:
      return "TIME";
    case SettingShape::kCount:
      return "N";
    default:
      return "NAME";
  }
}

bool HasOption(const Command& command, std::string_view name) {
  return std::ranges::find(command.options, name, &OptionSpec::name) != command.options.end();
}

std::string FileFor(const Arguments& arguments, const Folder& folder) {
  if (HasOption(arguments.command(), kConfigOption.name) && arguments.Has(kConfigOption.name)) {
    return arguments.Text(kConfigOption.name);
  }
  if (auto named = EnvironmentVariable("EVERSTEP_CONFIG"); named && !named->empty()) {
    return *named;
  }
  const std::string usual = folder.path() + "/everstep.yaml";
  std::error_code failed;
  return std::filesystem::exists(usual, failed) ? usual : std::string();
}

}  // namespace

std::vector<OptionSpec> WithSettingFlags(std::vector<OptionSpec> first) {
  for (const Setting& setting : SettingTable()) {
    if (setting.flag.empty()) continue;
    first.push_back({setting.flag, KindOf(setting.shape), ValueOf(setting), setting.meaning});
  }
  return first;
}

Result<LoadedSettings> SettingsFor(const Arguments& arguments, const Folder& folder,
                                   const std::string& file) {
  SettingSources sources;
  sources.file = file.empty() ? FileFor(arguments, folder) : file;
  if (!sources.file.empty()) {
    auto text = ReadWholeFile(sources.file);
    if (!text) return Error{ErrorCode::kInvalidArgument, text.error().message, {}};
    sources.text = *std::move(text);
  }
  sources.environment = EnvironmentVariable;
  sources.variables = EnvironmentNames("EVERSTEP_");
  for (const Setting& setting : SettingTable()) {
    const bool given = !setting.flag.empty() && HasOption(arguments.command(), setting.flag) &&
                       arguments.Has(setting.flag);
    if (!given) continue;
    std::vector<std::string> texts;
    switch (KindOf(setting.shape)) {
      case OptionKind::kSwitch:
        texts = {"true"};
        break;
      case OptionKind::kList:
        texts = arguments.List(setting.flag);
        break;
      default:
        texts = {arguments.Text(setting.flag)};
    }
    sources.flags.emplace_back(setting.flag, std::move(texts));
  }
  auto loaded = LoadSettings(sources);
  if (loaded) return loaded;
  Error error = std::move(loaded).error();
  for (Fault& fault : error.faults) {
    if (fault.line > 0) fault.pointer = PlaceOf(sources.file, "", fault.line, fault.column);
  }
  return error;
}

Status CheckServable(const LoadedSettings& loaded) {
  Status fit = everstep::CheckServable(loaded.settings.server);
  if (fit) return fit;
  Error error = std::move(fit).error();
  for (Fault& fault : error.faults) {
    const auto value = std::ranges::find(loaded.values, fault.pointer, &SettingValue::key);
    if (value != loaded.values.end()) fault.pointer += " (" + value->source + ")";
  }
  return error;
}

std::string StrangeVariableText(std::string_view variable) {
  return std::string(variable) + " is not a setting or variable of Everstep";
}

}  // namespace everstep::cli
