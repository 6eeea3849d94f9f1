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

// A command line to carry out, in this process or in the one that owns the store.
template <typename Store>
struct Call {
  const Arguments& arguments;
  std::string_view body;  // the result of StoreCommand::prepare
  Store& store;
  Output& out;
  AlertBoard* alerts = nullptr;  // of the engine; may be null
  bool visits = false;           // the command line comes from another process
  bool elsewhere = false;        // the store is that of a server

  // Returns a command to show to people, with the --data or --server of this one.
  std::string Hint(std::string_view command) const {
    std::string text = "everstep " + std::string(command);
    if (arguments.Has(kFolderOption.name)) text += " --data " + arguments.Text(kFolderOption.name);
    return text + ServerWords(arguments);
  }
};

using LogCall = Call<Log>;
using EngineCall = Call<Engine>;

// A command on the data folder or a server. The process that has the store open runs it: this one,
// or the owner, which is asked through its socket. With a server (server_access.h), this process
// runs it through the API of the server. The command has kFolderOption and the options of
// server_access.h. At least one of `on_log` and `on_engine` is set; if both are, `on_log` is used
// for a store whose owner does not answer.
struct StoreCommand {
  // Runs in the process that was given the command line, before anything is opened. Reads files and
  // chooses ids, so that another process can carry out the command, and repeat it. May be null.
  Result<std::string> (*prepare)(const Arguments& arguments) = nullptr;
  ExitCode (*on_log)(const LogCall& call) = nullptr;
  ExitCode (*on_engine)(const EngineCall& call) = nullptr;
  bool as_owner = false;  // creates the store if missing, continues its runs, serves visitors
};

// The Command::run of every command on the data folder.
ExitCode RunOnStore(const Arguments& arguments, Output& out);

}  // namespace everstep::cli
