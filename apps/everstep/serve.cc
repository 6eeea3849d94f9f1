#include <chrono>
#include <fstream>
#include <string>

#include "alert_board.h"
#include "commands.h"
#include "data_folder.h"
#include "interrupt.h"
#include "output.h"
#include "owner_socket.h"
#include "serve/server.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    {"listen", OptionKind::kList, "HOST:PORT", "where to listen [default: 127.0.0.1:7233]"},
    {"dev", OptionKind::kSwitch, "", "without authentication, with all tools; loopback only"},
    {"tls-certificate", OptionKind::kText, "FILE", "PEM file; makes the server speak TLS 1.3"},
    {"tls-key", OptionKind::kText, "FILE", "PEM file"},
    {"enable-tool", OptionKind::kList, "KIND", "shell, python, sqlite: off until named"},
    {"allow-private-addresses", OptionKind::kSwitch, "",
     "http steps and PlanRefs may go to loopback and private ranges"},
    {"io-threads", OptionKind::kCount, "N", "threads for connections", "1"},
    {"drain-timeout", OptionKind::kDuration, "TIME", "how long to wait when stopping", "20s"},
};

// Tools that run programs or open files of this machine are off until somebody wants them.
constexpr std::string_view kHarmlessTools[] = {"noop", "echo", "merge", "sleep", "http"};

ServerOptions OptionsOf(const Arguments& arguments, const Folder& folder) {
  ServerOptions options;
  options.engine = folder.Options();
  options.engine.log.create_if_missing = true;
  options.data_directory = folder.path();
  options.api.version = EVERSTEP_VERSION;
  const bool dev = arguments.Has("dev");
  options.authentication = !dev;
  if (!dev) {
    options.engine.tools.enabled.assign(std::begin(kHarmlessTools), std::end(kHarmlessTools));
    for (const std::string& kind : arguments.List("enable-tool")) {
      options.engine.tools.enabled.push_back(kind);
    }
  }
  options.engine.tools.allow_private_addresses = dev || arguments.Has("allow-private-addresses");
  if (!arguments.List("listen").empty()) options.http.listen = arguments.List("listen");
  options.http.certificate_file = arguments.Text("tls-certificate");
  options.http.key_file = arguments.Text("tls-key");
  options.http.io_threads = static_cast<std::uint32_t>(arguments.Number("io-threads"));
  return options;
}

void Welcome(const Server& server, const ServerOptions& options, Output& out) {
  const std::string scheme = options.http.certificate_file.empty() ? "http://" : "https://";
  for (const std::string& address : server.addresses()) {
    out.Write("listening on " + scheme + address + "\n");
  }
  if (!options.authentication) {
    out.WriteError(
        "everstep: WARNING: --dev: no authentication, all tools on. Everybody on this machine can "
        "run programs as you.\n");
  } else if (!server.admin_token_path().empty()) {
    out.Write("the first admin's token is in " + server.admin_token_path() + "\n");
  }
  out.Flush();
}

ExitCode Run(const Arguments& arguments, Output& out) {
  auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  if (const Status made = folder->Make(); !made) return Fail(made.error(), out);
  AlertBoard alerts;
  ServerOptions options = OptionsOf(arguments, *folder);
  options.engine.on_alert = [&alerts](const Alert& alert) { alerts.Raise(alert); };
  auto server = Server::Start(options);
  if (!server) return Fail(WithOwner(server.error(), folder->store()), out);
  auto socket = OwnerSocket::Listen(*folder, (*server)->engine(), alerts);
  if (!socket) {
    out.WriteError("everstep: others cannot ask this process: " + socket.error().message + "\n");
  }
  Welcome(**server, options, out);
  while (!Interrupted()) WaitForInput(-1, std::chrono::milliseconds(-1));
  out.Write("stopping\n");
  out.Flush();
  const bool done = (*server)->Drain(arguments.Duration("drain-timeout"));
  if (!done) out.WriteError("everstep: some steps still ran; the next start delivers them again\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kServe{
    "serve",
    "",
    0,
    0,
    "Serve the HTTP API on the data folder until interrupted.",
    "The first start makes an admin's token and says where it is. SIGTERM or Ctrl-C stops\n"
    "cleanly: no new requests, what has begun is finished within --drain-timeout, the rest is\n"
    "delivered again by the next start.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
