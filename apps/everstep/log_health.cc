#include <string>

#include "base/json.h"
#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"
#include "table.h"
#include "tenant_counts_text.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kStoreOption, kTenantOption, kOutputOption};

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  const std::string& tenant = arguments.Text("tenant");
  const LogHealth health = (*log)->Health(tenant);
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    Facts facts;
    facts.Add("store", StoreDirectory(arguments));
    facts.Add("disk", BytesText(health.disk_bytes));
    facts.Add("tenant", tenant);
    facts.Add("holds", CountsText(health));
    out.Write(facts.Format(out.look()));
    return ExitCode::kOk;
  }
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("store", StoreDirectory(arguments));
  json.Member("diskBytes", health.disk_bytes);
  json.Member("tenantId", tenant);
  WriteCounts(health, json);
  json.EndObject();
  WriteDocument(form, text, out);
  return ExitCode::kOk;
}

}  // namespace

const Command kLogHealth{
    "log health", "", 0, 0, "Show what a store contains and its size.", "", kOptions, Run,
};

}  // namespace everstep::cli
