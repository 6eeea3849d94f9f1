#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "alert_board.h"
#include "commands.h"
#include "data_folder.h"
#include "deadline.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "owner_socket.h"
#include "serve/server.h"
#include "serve/server_log.h"
#include "serve_settings.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

// kEndTime is reserved at the end of the drain timeout: up to kLastWords to write the last line of
// the log, the rest for the system to release the memory and threads of a process that is ended by
// force.
constexpr std::chrono::milliseconds kEndTime{250};
constexpr std::chrono::milliseconds kLastWords{100};

// The part of the drain timeout that is reserved for closing the store after draining.
std::chrono::milliseconds CloseTimeOf(std::chrono::milliseconds stop_time) {
  return std::min<std::chrono::milliseconds>(std::chrono::seconds(5), stop_time / 4);
}

const std::vector<OptionSpec> kOptions = WithSettingFlags({kFolderOption, kConfigOption});

ServerOptions OptionsOf(const ServeSettings& settings, const Folder& folder) {
  ServerOptions options = settings.server;
  const EngineOptions places = folder.Options();
  options.engine.log.directory = places.log.directory;
  options.engine.tools.artifact_directory = places.tools.artifact_directory;
  options.engine.tools.secrets_file = places.tools.secrets_file;
  options.engine.log.create_if_missing = !folder.HadStore();
  options.data_directory = folder.path();
  options.api.version = EVERSTEP_VERSION;
  options.api.slow_request = settings.slow_request;
  return options;
}

StreamLog::Options LogOptionsOf(const ServeSettings& settings) {
  StreamLog::Options options;
  options.descriptor = STDERR_FILENO;
  const bool text = settings.log_format == "text" ||
                    (settings.log_format == "auto" && isatty(STDERR_FILENO) != 0);
  options.format = text ? LogFormat::kText : LogFormat::kJson;
  options.level = settings.log_level == "error"  ? LogLevel::kError
                  : settings.log_level == "warn" ? LogLevel::kWarn
                                                 : LogLevel::kInfo;
  return options;
}

void Welcome(const Server& server, const ServerOptions& options, Output& out) {
  const std::string scheme = options.http.certificate_file.empty() ? "http://" : "https://";
  for (const std::string& address : server.addresses()) {
    out.Write("listening on " + scheme + address + "\n");
  }
  if (!options.authentication) {
    constexpr std::string_view kWarning =
        "--dev: no authentication, all tools enabled. Everyone on this machine can run programs as "
        "you.";
    out.Write("WARNING: " + std::string(kWarning) + "\n");
    options.api.log->Write({LogLevel::kWarn, "server.dev", kWarning});
  } else if (!server.admin_token_path().empty()) {
    out.Write("the first admin's token is in " + server.admin_token_path() + "\n");
  }
  out.Flush();
}

// Whoever can read the key can impersonate this server.
void CheckKey(const ServerOptions& options, ServerLog& log) {
  struct stat found {};
  const std::string& path = options.http.key_file;
  if (path.empty() || ::stat(path.c_str(), &found) != 0 || (found.st_mode & S_IROTH) == 0) return;
  log.Write({LogLevel::kWarn,
             "server.key",
             "every user of this machine can read the TLS key; restrict it (chmod o-r)",
             {{"file", path}}});
}

void Reload(Server& server, const ServerOptions& options, ServerLog& log) {
  const Status loaded = server.ReloadCertificate();
  if (loaded) {
    CheckKey(options, log);
    log.Write({LogLevel::kInfo, "server.certificate", "new connections use the new certificate"});
    return;
  }
  log.Write({LogLevel::kError,
             "server.certificate",
             "the new certificate cannot be used; keeping the old one",
             {{"error", loaded.error().message}}});
}

// Runs the server from its start to its end. From the stop signal on, `stopped_by` limits the time.
ExitCode ServeUntilStopped(const ServerOptions& options, const ServeSettings& settings,
                           const Folder& folder, AlertBoard& alerts, Deadline& stopped_by,
                           Output& out) {
  ServerLog& log = *options.api.log;
  // A start has nothing to finish, so a signal ends it at once, as a crash would.
  AnswerInterrupts(0);
  auto server = Server::Start(options);
  AnswerInterrupts(1);
  if (!server) return Fail(WithOwner(folder.Explain(server.error()), folder.store()), out);
  if (const Status noted = folder.NoteStore(); !noted) {
    log.Write({LogLevel::kWarn,
               "server.folder",
               "the next start will not notice if the store is missing",
               {{"error", noted.error().message}}});
  }
  auto socket = OwnerSocket::Listen(folder, (*server)->engine(), alerts);
  if (!socket) {
    log.Write({LogLevel::kWarn,
               "server.socket",
               "commands on the folder cannot reach this process; use --server",
               {{"error", socket.error().message}}});
  }
  Welcome(**server, options, out);
  CheckKey(options, log);
  if (!options.http.certificate_file.empty()) CatchHangups();
  while (!Interrupted()) {
    WaitForInput(-1, std::chrono::milliseconds(-1));
    if (TakeHangup()) Reload(**server, options, log);
  }
  stopped_by.Set(settings.drain_timeout - kEndTime);
  out.Write("stopping\n");
  out.Flush();
  const bool done = (*server)->Drain(settings.drain_timeout - CloseTimeOf(settings.drain_timeout));
  if (!done) {
    log.Write({LogLevel::kWarn, "server.drain",
               "some steps were still running; the next start delivers them again"});
  }
  return ExitCode::kOk;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  const auto loaded = SettingsFor(arguments, *folder, "");
  if (!loaded) return Fail(loaded.error(), out);
  if (const Status fit = CheckServable(*loaded); !fit) return Fail(fit.error(), out);
  if (const Status made = folder->Make(); !made) return Fail(made.error(), out);
  const auto owned = folder->Own();
  if (!owned) return Fail(owned.error(), out);
  const ServeSettings& settings = loaded->settings;
  StreamLog log(LogOptionsOf(settings), SystemClock());
  for (const std::string& variable : loaded->strange_variables) {
    log.Write({LogLevel::kWarn, "server.setting", StrangeVariableText(variable)});
  }
  AlertBoard alerts;
  ServerOptions options = OptionsOf(settings, *folder);
  options.api.log = &log;
  options.engine.on_alert = [&alerts](const Alert& alert) { alerts.Raise(alert); };
  // Outlives the server, so that the process ends in time whatever blocks the end.
  Deadline stopped_by([&log] {
    log.Write({LogLevel::kError, "server.forced",
               "requests or steps did not end in time: the process ends without them. Everything "
               "acknowledged is durable; the next start continues from there"});
    (void)log.Flush(kLastWords);
    std::_Exit(static_cast<int>(ExitCode::kForced));
  });
  const ExitCode code = ServeUntilStopped(options, settings, *folder, alerts, stopped_by, out);
  // If nobody reads the log, `stopped_by` ends this wait.
  if (Interrupted()) (void)log.Flush(std::chrono::hours(24));
  return code;
}

}  // namespace

const Command kServe{
    "serve",
    "",
    0,
    0,
    "Serve the HTTP API on the data folder until interrupted.",
    "Settings come from flags, the environment and a file, in this order of precedence;\n"
    "'everstep config check' shows the result, docs/configuration.md lists all settings. The\n"
    "first start creates an admin token and prints where it is. SIGTERM or Ctrl-C stops the\n"
    "server: it takes no new requests and finishes what is in flight; steps that do not finish\n"
    "are delivered again by the next start. The process ends within --drain-timeout; if it has\n"
    "to cut something off, the exit code is 13. With TLS, SIGHUP reloads the certificate and key.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
