#pragma once

#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

// The part of a `run` or `start` command that comes from files. It is read by the process that was
// given the command line and carried out by the process that has the store open.
struct RunOrder {
  std::string plan;    // the document; empty: the run already exists
  std::string uri;     // the origin of the plan
  std::string inputs;  // JSON object
  std::string plan_id;
  std::string stem;    // "<planId>-<8 hex>", begins the ids of runs of this plan and inputs
  std::string run_id;  // empty: the newest unfinished run of `stem`, or a new one
  std::string beside;  // describes a step that runs a local plan file, which a server cannot read
  bool fresh = false;  // always start a new run
  bool wake = true;    // resume the run if it is PAUSED

  std::string ToJson() const;
  static Result<RunOrder> FromJson(std::string_view json);

  // Reads and checks the plan (the first operand) and the inputs. Faults in a plan name file, line
  // and column.
  static Result<RunOrder> Of(const Arguments& arguments);

  // Fails with kInvalidPlan if the plan cannot be started on a server.
  Status CheckForServer() const;
};

// Returns the options --input and --input-file as a JSON object, for a plan with unknown inputs.
Result<std::string> InputsOf(const Arguments& arguments);

// Returns a request of the local user with tenant, project, environment and priority from the
// options. Fails with kInvalidArgument.
Result<StartRequest> StartRequestOf(const Arguments& arguments);

}  // namespace everstep::cli
