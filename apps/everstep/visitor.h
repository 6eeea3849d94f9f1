#pragma once

#include <optional>
#include <string>

#include "arguments.h"
#include "data_folder.h"
#include "output.h"

namespace everstep::cli {

// How a visit went.
struct Visit {
  enum class End : std::uint8_t {
    kNobody,     // nothing listens; the store is at rest, or its owner has no socket
    kSilence,    // somebody listens and does not answer
    kBrokenOff,  // the owner ended before the command did; repeat it with `body`
    kAnswered,
  };
  End end = End::kNobody;
  ExitCode code = ExitCode::kOk;  // kAnswered
};

// Has the owner of the folder's store carry out the command line, with its answers on `out`.
// `body`: what the command was prepared with; afterwards, what it is to be repeated with.
Visit VisitOwner(const Folder& folder, const Arguments& arguments, std::string& body, Output& out);

}  // namespace everstep::cli
