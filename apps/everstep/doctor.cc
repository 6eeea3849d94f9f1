#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "commands.h"
#include "data_folder.h"
#include "doctor_checks.h"
#include "output.h"
#include "serve_settings.h"
#include "server_access.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kFolderOption,    kConfigOption, kServerOption,
                                   kTokenFileOption, kCaFileOption, kOutputOption};
constexpr std::string_view kVerdicts[] = {"ok", "warn", "fail"};
constexpr Colour kColours[] = {Colour::kGreen, Colour::kYellow, Colour::kRed};

Finding Unusable(const Error& error) {
  std::string text = error.message;
  for (const Fault& fault : error.faults) text += "; " + fault.pointer + " " + fault.message;
  return {Finding::Verdict::kFail, "settings", text, "everstep config check"};
}

std::vector<Finding> FindingsOf(const Arguments& arguments, const Folder& folder) {
  std::vector<Finding> findings;
  ServeSettings settings;
  if (auto loaded = SettingsFor(arguments, folder, "")) {
    const Status fit = CheckServable(*loaded);
    findings.push_back(fit ? Finding{Finding::Verdict::kOk, "settings", "valid", {}}
                           : Unusable(fit.error()));
    for (const std::string& variable : loaded->strange_variables) {
      findings.push_back({Finding::Verdict::kWarn, "settings", StrangeVariableText(variable),
                          "check its spelling; docs/configuration.md lists all settings"});
    }
    settings = std::move(loaded->settings);
  } else {
    findings.push_back(Unusable(loaded.error()));
  }
  for (Finding& finding : CheckFiles(folder)) findings.push_back(std::move(finding));
  const ServerOptions& server = settings.server;
  findings.push_back(CheckDisk(folder, server));
  findings.push_back(CheckSyncs(folder));
  findings.push_back(CheckStore(folder));
  findings.push_back(CheckAudit(folder));
  findings.push_back(CheckTokens(folder));
  findings.push_back(CheckSecrets(folder));
  findings.push_back(CheckHandles(server));
  findings.push_back(CheckClock(folder));
  findings.push_back(CheckTls(server));
  const auto elsewhere = FindServer(arguments);
  if (!elsewhere) {
    findings.push_back({Finding::Verdict::kFail, "server", elsewhere.error().message, {}});
  } else {
    findings.push_back(*elsewhere ? CheckServer(**elsewhere) : CheckServer(folder, server));
  }
  return findings;
}

std::string JsonOf(const std::vector<Finding>& findings) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray();
  for (const Finding& finding : findings) {
    json.BeginObject();
    json.Member("verdict", kVerdicts[static_cast<std::size_t>(finding.verdict)]);
    json.Member("subject", finding.subject);
    json.Member("text", finding.text);
    if (!finding.remedy.empty()) json.Member("remedy", finding.remedy);
    json.EndObject();
  }
  json.EndArray();
  return text;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  const std::vector<Finding> findings = FindingsOf(arguments, *folder);
  const bool failed = std::ranges::any_of(
      findings, [](const Finding& f) { return f.verdict == Finding::Verdict::kFail; });
  const ExitCode code = failed ? ExitCode::kFaults : ExitCode::kOk;
  if (const OutputForm form = FormOf(arguments); form != OutputForm::kTable) {
    WriteDocument(form, JsonOf(findings), out);
    return code;
  }
  for (const Finding& finding : findings) {
    const auto at = static_cast<std::size_t>(finding.verdict);
    std::string verdict(kVerdicts[at]);
    verdict.resize(4, ' ');
    std::string subject = finding.subject;
    subject.resize(std::max<std::size_t>(subject.size(), 12), ' ');
    out.Write(out.look().Paint(kColours[at], verdict) + "  " + subject + "  " +
              Printable(finding.text) + "\n");
    if (!finding.remedy.empty()) out.Write("                    do: " + finding.remedy + "\n");
  }
  return code;
}

}  // namespace

const Command kDoctor{
    "doctor",
    "",
    0,
    0,
    "Check a data folder, this machine and its server, and suggest fixes.",
    "Checks permissions, disk, the store, the audit log, limits, the clock, TLS files and\n"
    "settings, and queries the server: that of --server, else the one that has the folder open.\n"
    "Exits with 7 if a check failed.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
