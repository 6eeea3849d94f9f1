#include <string>

#include "commands.h"
#include "output.h"

namespace everstep::cli {
namespace {

ExitCode Run(const Arguments&, Output& out) {
  out.Write("everstep " EVERSTEP_VERSION "\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kVersion{
    "version", "", 0, 0, "Print the version.", "", {}, Run,
};

}  // namespace everstep::cli
