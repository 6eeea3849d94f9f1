#include <string>

#include "commands.h"
#include "data_folder.h"
#include "output.h"
#include "serve/audit_lines.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kFolderOption};

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  const auto key = AuditKey::Read(folder->path() + "/audit.key");
  if (!key) return Fail(key.error(), out);
  const auto verdict = VerifyAudit(folder->path(), *key);
  if (!verdict) return Fail(verdict.error(), out);
  const std::string head = "entry " + std::to_string(verdict->head.seq) + ", " + verdict->head.hash;
  if (!verdict->intact()) {
    std::string text = "the audit log fails verification: ";
    if (verdict->line > 0) text += "line " + std::to_string(verdict->line) + ": ";
    out.Write(text + Printable(verdict->reason) + "\nintact up to " + head + "\n");
    return ExitCode::kFaults;
  }
  out.Write(CountText(verdict->head.seq, "entry", "entries") + " intact\nhead: " + head + "\n");
  if (verdict->torn_bytes > 0) {
    out.Write(CountText(verdict->torn_bytes, "byte", "bytes") +
              " of an incomplete last line: being written, or cut off by a crash\n");
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kAuditVerify{
    "audit verify",
    "",
    0,
    0,
    "Check that no entry of the audit log was changed, removed, added or moved.",
    "Can be used while a server runs. Exits with 7 if the check fails. Keep the printed head in\n"
    "another place: comparing it later shows whether an older log was put back.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
