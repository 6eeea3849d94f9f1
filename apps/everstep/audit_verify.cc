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
    std::string text = "the audit log is not what it was: ";
    if (verdict->line > 0) text += "line " + std::to_string(verdict->line) + ": ";
    out.Write(text + Printable(verdict->reason) + "\nin order up to " + head + "\n");
    return ExitCode::kFaults;
  }
  out.Write(CountText(verdict->head.seq, "entry", "entries") + " in order\nhead: " + head + "\n");
  if (verdict->torn_bytes > 0) {
    out.Write(CountText(verdict->torn_bytes, "byte", "bytes") +
              " of a last line: being written, or left by a crash\n");
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
    "Works beside a server. Exits with 7 if something is wrong. Keep the head that it prints at\n"
    "another place: with it you see whether an older log was put back.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
