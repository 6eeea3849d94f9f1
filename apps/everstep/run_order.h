#pragma once

#include <string>
#include <string_view>

#include "arguments.h"
#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep::cli {

// What `everstep run` was told to do, as far as it comes from files: read where the command line
// was given, carried out where the store is open.
struct RunOrder {
  std::string plan;    // the document; empty: the run exists
  std::string uri;     // where it came from
  std::string inputs;  // JSON object
  std::string plan_id;
  std::string stem;    // "<planId>-<8 hex>": of the ids of runs of this plan with these inputs
  std::string run_id;  // empty: the newest of `stem` that has not ended, or a new one
  std::string beside;  // a step that runs a plan beside the file, which a server does not see
  bool fresh = false;  // always a new one
  bool wake = true;    // a run that is PAUSED is resumed

  std::string ToJson() const;
  static Result<RunOrder> FromJson(std::string_view json);

  // Reads the plan (the first operand) and the inputs and checks both. The faults of a plan say
  // file, line and column.
  static Result<RunOrder> Of(const Arguments& arguments);

  // Nothing to say against starting it on a server; kInvalidPlan.
  Status CheckForServer() const;
};

// The options --input and --input-file as a JSON object, for a plan whose inputs are not known.
Result<std::string> InputsOf(const Arguments& arguments);

// Tenant, project, environment, priority and who asks, from the options of these names.
Result<StartRequest> StartRequestOf(const Arguments& arguments);

}  // namespace everstep::cli
