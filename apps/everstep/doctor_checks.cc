#include "doctor_checks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/pause.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "base/unique_fd.h"
#include "client/api_client.h"
#include "everstep/log.h"
#include "net/certificate.h"
#include "net/http_client.h"
#include "output.h"
#include "serve/access_tokens.h"
#include "serve/audit_lines.h"
#include "snapshot_text.h"
#include "work/secret_file.h"

namespace everstep::cli {
namespace {

namespace fs = std::filesystem;
using enum Finding::Verdict;

constexpr int kSyncs = 20;
constexpr std::chrono::milliseconds kSlowSync{20};
constexpr std::chrono::hours kExpiresSoon{24 * 14};
constexpr std::chrono::minutes kClockTolerance{1};
constexpr std::uint64_t kOtherHandles = 256;  // the store's files, tools, pipes

// A clock outside of this range was never set.
constexpr std::string_view kEarliest = "2026-01-01T00:00:00Z";
constexpr std::string_view kLatest = "2100-01-01T00:00:00Z";

Finding Fine(std::string subject, std::string text) {
  return {kOk, std::move(subject), std::move(text), {}};
}

bool Exists(const std::string& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

// Returns the folder, or its nearest existing parent if it does not exist yet.
std::string NearestAbove(const std::string& path) {
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  while (!at.empty() && !fs::exists(at, failed) && at != at.parent_path()) at = at.parent_path();
  return at.string();
}

Result<std::unique_ptr<Log>> OpenToRead(const Folder& folder) {
  LogOptions options;
  options.directory = folder.store();
  options.create_if_missing = false;
  options.read_only = true;
  return Log::Open(options);
}

// Returns Timestamp{} if there is no event or the store cannot be read, which CheckStore reports.
Timestamp NewestEvent(const Folder& folder) {
  if (!Exists(folder.store())) return {};
  const auto log = OpenToRead(folder);
  return log ? (*log)->Health("").newest_event_at : Timestamp{};
}

// The finding for a server that is ready; a warning if /readyz mentions its clock.
Finding Ready(const std::string& address, const std::string& body, std::string text) {
  const std::size_t clock = body.find("\nclock: ");
  if (clock == std::string::npos) return Fine("server", std::move(text));
  const std::size_t begin = clock + std::string_view("\nclock: ").size();
  const std::string what = body.substr(begin, body.find('\n', begin) - begin);
  return {kWarn, "server", address + " is ready, but " + what,
          "check its clock, and keep it with NTP"};
}

// Whether the folder has an owner that does not have the store in it open. An owner that starts
// takes the folder first, so this waits for a moment.
bool LostByOwner(const Folder& folder) {
  constexpr int kLooks = 20;
  constexpr std::chrono::milliseconds kPause{50};
  for (int look = 0; look < kLooks; ++look) {
    if (!DirectoryLockHeld(folder.path()) || DirectoryLockHeld(folder.store())) return false;
    PauseForOthers(kPause);
  }
  return true;
}

}  // namespace

std::vector<Finding> CheckFiles(const Folder& folder) {
  constexpr std::array kPrivate = {"",           "/tokens.json", "/tokens.mark", "/admin-token",
                                   "/audit.key", "/audit.log",   "/audit.head",  "/secrets.key",
                                   "/secrets"};
  std::vector<Finding> findings;
  for (const std::string name : kPrivate) {
    const std::string path = folder.path() + name;
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) continue;
    const std::string subject = name.empty() ? "folder" : name.substr(1);
    if (facts.st_uid != ::geteuid()) {
      findings.push_back({kFail, subject, path + " belongs to another user",
                          "run this as that user, or change its owner"});
    } else if ((facts.st_mode & 0077) != 0) {
      findings.push_back(
          {kFail, subject, path + " can be opened by other users", "chmod go= " + path});
    }
  }
  if (findings.empty()) {
    findings.push_back(
        Exists(folder.path())
            ? Fine("files", folder.path() + ": accessible to its user only")
            : Fine("files", folder.path() + " does not exist yet; serve creates it"));
  }
  if (Exists(folder.path() + "/admin-token")) {
    findings.push_back({kWarn, "admin-token", "the first admin's token is still in the folder",
                        "move it to where you keep secrets"});
  }
  return findings;
}

Finding CheckDisk(const Folder& folder, const ServerOptions& options) {
  std::error_code failed;
  const auto space = fs::space(NearestAbove(folder.path()), failed);
  if (failed) return {kFail, "disk", failed.message(), "check the disk"};
  const std::string text = BytesText(space.available) + " free";
  if (space.available < options.engine.log.free_bytes_min) {
    return {kFail, "disk", text + "; below the reserve: writes are refused", "free disk space"};
  }
  if (space.available < options.api.free_bytes_ready) {
    return {kWarn, "disk", text + "; too little for a server to be ready", "free disk space"};
  }
  return Fine("disk", text);
}

Finding CheckSyncs(const Folder& folder) {
  const std::string path = NearestAbove(folder.path()) + "/.doctor." + std::to_string(::getpid());
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file)
    return {kFail, "syncs", path + ": " + std::strerror(errno), "let its user write there"};
  std::array<std::chrono::microseconds, kSyncs> times{};
  const std::array<char, 512> bytes{};
  bool good = true;
  for (auto& time : times) {
    const auto begin = SteadyNow();
    good = good && ::write(file.get(), bytes.data(), bytes.size()) == ssize_t{512} &&
           ::fdatasync(file.get()) == 0;
    time = std::chrono::duration_cast<std::chrono::microseconds>(SteadyNow() - begin);
  }
  ::unlink(path.c_str());
  if (!good) return {kFail, "syncs", "a synced write failed", "check the disk"};
  std::ranges::sort(times);
  const auto middle = times[kSyncs / 2];
  const std::string text = "a synced write takes " + std::to_string(middle.count()) +
                           " us, at most " + std::to_string(times.back().count()) + " us";
  if (middle < kSlowSync) return Fine("syncs", text);
  return {kWarn, "syncs", text, "use a local disk; runs wait for its syncs"};
}

Finding CheckStore(const Folder& folder) {
  if (LostByOwner(folder)) {
    return {kFail, "store", "the owner of the folder does not have " + folder.store() + " open",
            "if it was moved or replaced: stop the owner, then put the right one in place"};
  }
  if (const int owner = DirectoryLockOwner(folder.store()); owner > 0) {
    return Fine("store", "process " + std::to_string(owner) + " has it open");
  }
  std::error_code failed;
  const bool is_there = Exists(folder.store()) && !fs::is_empty(folder.store(), failed);
  if (!is_there && !folder.HadStore()) return Fine("store", "no store yet");
  const auto log = OpenToRead(folder);
  if (log) {
    const bool in_use = DirectoryLockHeld(folder.store());
    return Fine("store", in_use ? "a process has it open" : "can be opened; not in use");
  }
  const Error error = folder.Explain(log.error());
  return {kFail, "store", std::string(Name(error.code)) + ": " + error.message,
          "see 'everstep help " + std::string(Name(error.code)) + "'"};
}

Finding CheckHandles(const ServerOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {kWarn, "handles", "the limit on open files cannot be read", "ulimit -n"};
  }
  const std::uint64_t wanted = options.http.connections_max + kOtherHandles;
  const std::string text = "open files: up to " + std::to_string(limit.rlim_cur) + ", for " +
                           std::to_string(options.http.connections_max) + " connections";
  if (limit.rlim_cur >= wanted) return Fine("handles", text);
  return {kWarn, "handles", text,
          "raise it to " + std::to_string(wanted) + " (ulimit -n), or lower limits.connections"};
}

Finding CheckClock(const Folder& folder) {
  const Timestamp now = SystemClock().Now();
  const std::string text = TimeText(now);
  const std::string remedy = "set the clock, and keep it with NTP";
  if (now < *ParseTimestamp(kEarliest) || now > *ParseTimestamp(kLatest)) {
    return {kFail, "clock", text + " is not plausible", remedy};
  }
  // An event in the future was written by another clock, or while this one was ahead.
  if (const auto newest = NewestEvent(folder); newest > now + kClockTolerance) {
    return {kWarn, "clock",
            text + ", but the newest event in the store is from " + TimeText(newest) + ", " +
                DurationText(newest - now) + " later: the clock was ahead then, or is behind now",
            remedy};
  }
  struct stat facts {};
  if (::stat((folder.path() + "/audit.log").c_str(), &facts) == 0) {
    const Timestamp written{std::chrono::seconds(facts.st_mtim.tv_sec)};
    if (written > now + kClockTolerance) {
      return {kWarn, "clock", text + ", but the audit log was written at " + TimeText(written),
              remedy};
    }
  }
  return Fine("clock", text);
}

Finding CheckTls(const ServerOptions& options) {
  const HttpServerOptions& http = options.http;
  if (http.certificate_file.empty()) {
    const bool local = std::ranges::all_of(http.listen, IsLoopback);
    if (local) return Fine("tls", "off; the server listens on loopback only");
    return {kWarn, "tls", "off, and the server listens on addresses other than loopback",
            "set tls.certificate and tls.key, or put a TLS proxy in front of it"};
  }
  const auto certificate = ReadCertificate(http.certificate_file, http.key_file);
  if (!certificate) {
    return {kFail, "tls", certificate.error().message, "a server cannot start with it"};
  }
  const std::string text =
      certificate->subject + ", valid until " + TimeText(certificate->valid_until);
  const Timestamp now = SystemClock().Now();
  struct stat facts {};
  if (::stat(http.key_file.c_str(), &facts) == 0 && (facts.st_mode & 0077) != 0) {
    return {kFail, "tls", http.key_file + " can be opened by other users",
            "chmod go= " + http.key_file};
  }
  if (certificate->valid_until <= now || certificate->valid_from > now) {
    return {kFail, "tls", text + ": not valid now", "renew the certificate"};
  }
  if (certificate->valid_until <= now + kExpiresSoon) {
    return {kWarn, "tls", text, "renew the certificate"};
  }
  return Fine("tls", text);
}

Finding CheckAudit(const Folder& folder) {
  if (!Exists(folder.path() + "/audit.log")) return Fine("audit", "no audit log yet");
  const auto key = AuditKey::Read(folder.path() + "/audit.key");
  if (!key) return {kFail, "audit", key.error().message, "restore audit.key from a backup"};
  const auto verdict = VerifyAudit(folder.path(), *key);
  if (!verdict) return {kFail, "audit", verdict.error().message, "check the disk"};
  if (verdict->intact()) {
    return Fine("audit", CountText(verdict->head.seq, "entry", "entries") + " intact");
  }
  return {kFail, "audit", verdict->reason, "everstep audit verify; find out who changed it"};
}

Finding CheckTokens(const Folder& folder) {
  const std::string restore = "restore tokens.json from a backup";
  if (AccessTokens::HasLostFile(folder.path())) {
    return {kFail, "tokens", "the folder had API tokens, but tokens.json is missing: none is valid",
            restore + ", or start the server and create new tokens with its new admin token"};
  }
  if (!Exists(folder.path() + "/tokens.json")) return Fine("tokens", "no API tokens yet");
  const auto valid = AccessTokens::CountValid(folder.path(), SystemClock(), SystemRandom());
  if (!valid) return {kFail, "tokens", valid.error().message, restore};
  return Fine("tokens", CountText(*valid, "valid API token", "valid API tokens"));
}

Finding CheckSecrets(const Folder& folder) {
  const std::string path = folder.secrets();
  const auto known = HasSecretFile(path);
  if (!known) return {kFail, "secrets", known.error().message, "restore it from a backup"};
  if (!*known) return Fine("secrets", "no secrets yet");
  auto key = SecretFileKey::FromFile(path + ".key");
  if (!key) return {kFail, "secrets", key.error().message, "restore secrets.key from a backup"};
  const auto entries = SecretFile(path, *std::move(key), SystemRandom()).List();
  if (!entries) {
    return {kFail, "secrets", entries.error().message,
            "restore secrets and secrets.key from the same backup"};
  }
  return Fine("secrets", CountText(entries->size(), "secret", "secrets") + " can be read");
}

Finding CheckServer(const Folder& folder, const ServerOptions& options) {
  if (!folder.Owned()) return Fine("server", "no server has the folder open");
  std::string address = options.http.listen.front();
  if (address.ends_with(":0")) return Fine("server", "listens on a port chosen at startup");
  for (const std::string_view any : {"0.0.0.0:", "[::]:"}) {
    if (address.starts_with(any)) address.replace(0, any.size(), "127.0.0.1:");
  }
  const bool tls = !options.http.certificate_file.empty();
  AddressPolicy policy;
  policy.allow_private = true;
  HttpClient client(policy);
  HttpRequest request;
  request.url = (tls ? "https://" : "http://") + address + "/readyz";
  request.timeout = std::chrono::seconds(5);
  const HttpOutcome outcome = client.SendAndWait(request);
  if (outcome.failure == HttpFailure::kTls) {
    return {kWarn, "server", address + " answers, but its certificate is not for this address",
            "use its host name: --server URL"};
  }
  if (outcome.failure != HttpFailure::kNone) {
    return {kWarn, "server", "the folder is open, but nothing answers on " + address,
            "if its owner is a server, check its settings and log"};
  }
  if (outcome.response.status == 200) {
    return Ready(address, outcome.response.body, address + " is ready");
  }
  std::string why = outcome.response.body.substr(0, 200);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return {kFail, "server",
          address + " is not ready: status " + std::to_string(outcome.response.status) + ": " + why,
          "see its log and its alerts; docs/operations.md explains each answer"};
}

Finding CheckServer(const ClientOptions& options) {
  ApiClient api(options);
  const auto ready = api.Send({.path = "/readyz"});
  if (!ready) {
    return {kFail, "server", options.url + " is not ready: " + ready.error().message,
            "check whether it runs; its log and /readyz give the reason"};
  }
  if (const auto known = api.Send({.path = "/v1/counts"}); !known) {
    const std::string code(Name(known.error().code));
    return {kFail, "server",
            options.url + " is ready, but refuses: " + code + ": " + known.error().message,
            "see 'everstep help " + code + "'"};
  }
  return Ready(options.url, *ready, options.url + " is ready and accepts the token");
}

}  // namespace everstep::cli
