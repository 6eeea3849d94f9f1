#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/random.h"
#include "commands.h"
#include "data_folder.h"
#include "event/identifier.h"
#include "output.h"
#include "plan_file.h"
#include "table.h"
#include "work/secret_file.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr OptionSpec kTenantOption{"tenant", OptionKind::kText, "ID",
                                   "the tenant of the secret [default: default]"};
constexpr OptionSpec kServerOption{"server", OptionKind::kSwitch, "",
                                   "a secret for the settings of the server, not of a tenant"};
constexpr OptionSpec kOptions[] = {kTenantOption, kServerOption, kFolderOption};
constexpr OptionSpec kListOptions[] = {
    {kTenantOption.name, OptionKind::kText, "ID", "only those of this tenant [default: all]"},
    {kServerOption.name, OptionKind::kSwitch, "", "only those for the settings of the server"},
    kFolderOption,
    kOutputOption};

// Returns the owner that the options name, or nothing if they name none.
Result<std::optional<SecretOwner>> GivenOwner(const Arguments& arguments) {
  const bool tenant = arguments.Has(kTenantOption.name);
  if (tenant && arguments.Has(kServerOption.name)) {
    return Error{ErrorCode::kInvalidArgument, "--tenant and --server contradict each other", {}};
  }
  if (arguments.Has(kServerOption.name)) return std::optional(SecretOwner::Server());
  if (!tenant) return std::optional<SecretOwner>();
  const std::string id = arguments.Text(kTenantOption.name);
  if (!IsIdentifier(id)) {
    return Error{
        ErrorCode::kInvalidArgument,
        "--tenant must be 1 to 128 of A-Z a-z 0-9 . _ : - and begin with a letter or digit",
        {}};
  }
  return std::optional(SecretOwner::Tenant(id));
}

Result<SecretOwner> OwnerOf(const Arguments& arguments) {
  const auto given = GivenOwner(arguments);
  if (!given) return given.error();
  return given->value_or(SecretOwner::Tenant("default"));
}

std::string NameOf(const SecretOwner& owner) {
  return owner.is_server() ? "(server)" : owner.tenant_id();
}

Error Failed(const std::string& path) {
  return {ErrorCode::kSecretUnavailable, path + ": " + std::strerror(errno), {}};
}

// Creates the key, accessible to its user only. It is never replaced.
Status MakeKey(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Failed(path);
  std::array<char, kKeyBytes> key;
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t random = SystemRandom().Next();
    std::memcpy(key.data() + i, &random, sizeof(random));
  }
  const bool written =
      write(file, key.data(), key.size()) == ssize_t{kKeyBytes} && fsync(file) == 0;
  close(file);
  return written ? Ok() : Status(Failed(path));
}

// Opens the secrets of the data folder; null if there are none and none are to be made.
Result<std::unique_ptr<SecretFile>> OpenSecrets(const Arguments& arguments, bool make) {
  const auto folder = Folder::Find(arguments);
  if (!folder) return folder.error();
  if (make) {
    if (const Status made = folder->Make(); !made) return made.error();
  }
  const std::string key_path = folder->secrets() + ".key";
  const auto known = HasSecretFile(folder->secrets());
  if (!known) return known.error();
  if (!*known && !make) return std::unique_ptr<SecretFile>();
  if (!*known) {
    if (const Status made = MakeKey(key_path); !made) return made.error();
  }
  auto key = SecretFileKey::FromFile(key_path);
  if (!key) return key.error();
  return std::make_unique<SecretFile>(folder->secrets(), *std::move(key), SystemRandom());
}

Error NoValue(const std::string& why) {
  return {ErrorCode::kInvalidArgument, "standard input has no value for a secret: " + why, {}};
}

// Reads the value from standard input. A terminal does not show what is typed.
Result<std::string> ReadValue() {
  termios before{};
  const bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
  if (is_terminal) {
    termios quiet = before;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    std::fputs("value (end with Ctrl-D on an empty line): ", stderr);
  }
  auto value = ReadWholeFile("-");
  if (is_terminal) {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fputs("\n", stderr);
  }
  if (!value) return Error{ErrorCode::kInvalidArgument, value.error().message, {}};
  if (value->ends_with('\n')) value->pop_back();
  if (value->ends_with('\r')) value->pop_back();
  if (value->find_first_not_of(" \t\r\n") == std::string::npos) return NoValue("it is empty");
  if (value->find('\0') != std::string::npos) return NoValue("it contains a NUL byte");
  return value;
}

ExitCode RunSet(const Arguments& arguments, Output& out) {
  const auto owner = OwnerOf(arguments);
  if (!owner) return Fail(owner.error(), out);
  const auto value = ReadValue();
  if (!value) return Fail(value.error(), out);
  const std::string& key = arguments.operands().front();
  const auto secrets = OpenSecrets(arguments, true);
  if (!secrets) return Fail(secrets.error(), out);
  const auto version = (*secrets)->Set(*owner, key, *value);
  if (!version) return Fail(version.error(), out);
  out.Write(Printable(key) + " is set, version " + *version + "\n");
  return ExitCode::kOk;
}

ExitCode RunList(const Arguments& arguments, Output& out) {
  const auto owner = GivenOwner(arguments);
  if (!owner) return Fail(owner.error(), out);
  std::vector<SecretFile::Entry> entries;
  const auto secrets = OpenSecrets(arguments, false);
  if (!secrets) return Fail(secrets.error(), out);
  if (*secrets != nullptr) {
    const auto listed = (*secrets)->List();
    if (!listed) return Fail(listed.error(), out);
    entries = *listed;
    if (*owner) {
      std::erase_if(entries, [&](const SecretFile::Entry& e) { return e.owner != **owner; });
    }
  }
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    Table table({"TENANT", "SECRET", "VERSION"});
    for (const SecretFile::Entry& entry : entries) {
      table.Add({NameOf(entry.owner), entry.key, entry.version});
    }
    out.Write(table.TakeText(out.look()));
    return ExitCode::kOk;
  }
  std::string text;
  JsonWriter json(text);
  json.BeginArray();
  for (const SecretFile::Entry& entry : entries) {
    json.BeginObject();
    if (!entry.owner.is_server()) json.Member("tenantId", entry.owner.tenant_id());
    json.Member("key", entry.key);
    json.Member("version", entry.version);
    json.EndObject();
  }
  json.EndArray();
  WriteDocument(form, text, out);
  return ExitCode::kOk;
}

ExitCode RunRemove(const Arguments& arguments, Output& out) {
  const auto owner = OwnerOf(arguments);
  if (!owner) return Fail(owner.error(), out);
  const auto secrets = OpenSecrets(arguments, false);
  if (!secrets) return Fail(secrets.error(), out);
  const std::string& key = arguments.operands().front();
  if (*secrets == nullptr) {
    return Fail(Error{ErrorCode::kSecretUnavailable, "the data folder has no secrets", {}}, out);
  }
  const Status removed = (*secrets)->Remove(*owner, key);
  if (!removed) return Fail(removed.error(), out);
  out.Write(Printable(key) + " is removed\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kSecretSet{
    "secret set",
    "KEY",
    1,
    1,
    "Store a secret, read from standard input, encrypted in the data folder.",
    "Plans of the tenant refer to it in secretRefs with the provider \"file\", its sinks by\n"
    "secret:KEY; other tenants cannot use it. The next step that needs it gets the new value.\n"
    "The encryption key is DATA/secrets.key, created with the first secret.",
    kOptions,
    RunSet,
};

const Command kSecretList{
    "secret list", "",      0, 0, "List the names and versions of secrets, never their values.", "",
    kListOptions,  RunList,
};

const Command kSecretRemove{
    "secret remove", "KEY", 1, 1, "Remove a secret.", "", kOptions, RunRemove,
};

}  // namespace everstep::cli
