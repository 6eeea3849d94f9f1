#pragma once

#include <optional>
#include <string>

#include "arguments.h"
#include "data_folder.h"
#include "output.h"

namespace everstep::cli {

// The outcome of a visit.
struct Visit {
  enum class End : std::uint8_t {
    kNobody,     // nothing listens: the store has no owner, or its owner has no socket
    kSilence,    // the socket does not answer
    kBrokenOff,  // the owner ended before the command did; to be repeated with `body`
    kAnswered,
  };
  End end = End::kNobody;
  ExitCode code = ExitCode::kOk;  // kAnswered
};

// Lets the owner of the folder's store carry out the command line and copies its output to `out`.
// `body` is the result of StoreCommand::prepare; on return it is what to repeat the command with.
Visit VisitOwner(const Folder& folder, const Arguments& arguments, std::string& body, Output& out);

}  // namespace everstep::cli
