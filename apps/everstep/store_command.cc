#include "store_command.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "everstep/client.h"
#include "interrupt.h"
#include "owner_socket.h"
#include "server_patience.h"
#include "visitor.h"

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{50};
constexpr int kInterruptsOfAnOwner = 2;  // one pauses, the next cancels

// Carries out a command line on the data folder, in this process or in the owner of the store.
class Errand {
 public:
  Errand(const Arguments& arguments, Folder folder, std::string body, Output& out)
      : arguments_(arguments),
        command_(*arguments.command().on_store),
        folder_(std::move(folder)),
        body_(std::move(body)),
        out_(out) {}

  ExitCode Run() {
    auto give_up = Deadline();
    while (true) {
      const Visit visit = VisitOwner(folder_, arguments_, body_, out_);
      if (visit.end == Visit::End::kAnswered) return visit.code;
      if (!out_.is_open()) return ExitCode::kOk;
      if (visit.end == Visit::End::kBrokenOff) give_up = Deadline();
      const auto code = command_.on_engine != nullptr ? OnEngine() : OnLog();
      if (code) return *code;
      const bool is_over = std::chrono::steady_clock::now() >= give_up || Interrupted();
      if (is_over || visit.end == Visit::End::kSilence) return Refused(visit);
      out_.Wait(kRetryEvery);
    }
  }

 private:
  std::chrono::steady_clock::time_point Deadline() const {
    return std::chrono::steady_clock::now() + arguments_.Duration(kWaitOption.name);
  }

  ExitCode OnLog() {
    LogOptions options;
    options.directory = folder_.store();
    options.create_if_missing = false;
    options.read_only = true;
    const auto log = Log::Open(options);
    if (!log) return Fail(folder_.Explain(log.error()), out_);
    return command_.on_log({arguments_, body_, **log, out_});
  }

  // Returns nothing if another process owns the folder or has the store open.
  std::optional<ExitCode> OnEngine() {
    const auto owned = folder_.Own();
    if (!owned && owned.error().code == ErrorCode::kStoreLocked) {
      locked_ = owned.error();
      return std::nullopt;
    }
    if (!owned && owned.error().code != ErrorCode::kStoreNotFound) {
      return Fail(owned.error(), out_);
    }
    EngineOptions options = folder_.Options();
    options.log.create_if_missing = command_.as_owner && !folder_.HadStore();
    options.passive = !command_.as_owner;
    AlertBoard alerts;
    options.on_alert = [&alerts](const Alert& alert) { alerts.Raise(alert); };
    auto engine = Engine::Open(std::move(options));
    if (!engine) {
      if (engine.error().code != ErrorCode::kStoreLocked) {
        return Fail(folder_.Explain(engine.error()), out_);
      }
      locked_ = std::move(engine).error();
      return std::nullopt;
    }
    std::unique_ptr<OwnerSocket> socket;
    if (command_.as_owner) {
      if (const Status noted = folder_.NoteStore(); !noted) {
        out_.WriteError("everstep: " + noted.error().message + "\n");
      }
      auto listening = OwnerSocket::Listen(folder_, **engine, alerts);
      if (listening) {
        socket = *std::move(listening);
      } else {
        out_.WriteError("everstep: no socket for other commands: " + listening.error().message +
                        "\n");
      }
    }
    return command_.on_engine({arguments_, body_, **engine, out_, &alerts});
  }

  ExitCode Refused(const Visit& visit) {
    if (command_.on_log != nullptr) return OnLog();
    Error error = WithOwner(locked_, folder_.store());
    error.message += visit.end == Visit::End::kSilence
                         ? " and does not answer on " + folder_.socket()
                         : " and has no socket " + folder_.socket();
    return Fail(error, out_);
  }

  const Arguments& arguments_;
  const StoreCommand& command_;
  const Folder folder_;
  std::string body_;
  Output& out_;
  Error locked_{ErrorCode::kStoreLocked, "", {}};
};

ExitCode OnServer(const Arguments& arguments, ClientOptions options, const std::string& body,
                  Output& out) {
  const StoreCommand& command = *arguments.command().on_store;
  options.ask_again = ServerPatience(out);
  const auto engine = Connect(std::move(options));
  if (!engine) return Fail(engine.error(), out);
  if (command.on_engine != nullptr) {
    return command.on_engine({arguments, body, **engine, out, nullptr, false, true});
  }
  return command.on_log({arguments, body, (*engine)->log(), out, nullptr, false, true});
}

}  // namespace

ExitCode RunOnStore(const Arguments& arguments, Output& out) {
  const StoreCommand& command = *arguments.command().on_store;
  auto server = FindServer(arguments);
  if (!server) return Fail(server.error(), out);
  if (*server) {
    if (const Status fit = CheckTokenDecides(arguments); !fit) return Fail(fit.error(), out);
  }
  std::string body;
  if (command.prepare != nullptr) {
    auto prepared = command.prepare(arguments);
    if (!prepared) return Fail(prepared.error(), out);
    body = *std::move(prepared);
  }
  if (command.as_owner) AnswerInterrupts(kInterruptsOfAnOwner);
  if (*server) return OnServer(arguments, **std::move(server), body, out);
  auto folder = Folder::Find(arguments);
  if (!folder) return Fail(folder.error(), out);
  if (command.as_owner) {
    if (const Status made = folder->Make(); !made) return Fail(made.error(), out);
  }
  return Errand(arguments, *std::move(folder), std::move(body), out).Run();
}

}  // namespace everstep::cli
