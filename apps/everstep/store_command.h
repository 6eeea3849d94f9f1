#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "alert_board.h"
#include "arguments.h"
#include "data_folder.h"
#include "everstep/engine.h"
#include "everstep/log.h"
#include "output.h"
#include "server_access.h"

namespace everstep::cli {

inline constexpr OptionSpec kWaitOption{"lock-timeout", OptionKind::kDuration, "TIME",
                                        "how long to wait for a store in use", "5s"};

// A command line that is carried out, here or by the process that owns the store.
template <typename Store>
struct Call {
  const Arguments& arguments;
  std::string_view body;  // what StoreCommand::prepare made
  Store& store;
  Output& out;
  AlertBoard* alerts = nullptr;  // of the engine; null: it has none
  bool visits = false;           // given by another process
  bool elsewhere = false;        // the store is a server's

  // A command to show to people: with the --data or --server that this one was given.
  std::string Hint(std::string_view command) const {
    std::string text = "everstep " + std::string(command);
    if (arguments.Has(kFolderOption.name)) text += " --data " + arguments.Text(kFolderOption.name);
    return text + ServerWords(arguments);
  }
};

using LogCall = Call<Log>;
using EngineCall = Call<Engine>;

// A command on the data folder or a server. Whoever has the store open runs it: this process, or
// the owner, which is asked through its socket; with a server (server_access.h) this process runs
// it on the server's API. It has kFolderOption and the options of server_access.h. At least one of
// `on_log` and `on_engine` is there; with both, `on_log` is for a store whose owner does not
// answer.
struct StoreCommand {
  // Runs where the command line was given, before anything is opened: reads files, makes ids, so
  // that the command can be carried out elsewhere and repeated. May be missing.
  Result<std::string> (*prepare)(const Arguments& arguments) = nullptr;
  ExitCode (*on_log)(const LogCall& call) = nullptr;
  ExitCode (*on_engine)(const EngineCall& call) = nullptr;
  bool as_owner = false;  // makes the store if it is missing, goes on with its runs, serves others
};

// Command::run of every command on the data folder.
ExitCode RunOnStore(const Arguments& arguments, Output& out);

}  // namespace everstep::cli
