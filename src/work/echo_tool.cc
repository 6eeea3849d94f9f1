#include "work/echo_tool.h"

#include "base/json.h"

namespace everstep {

TaskOutcome EchoTool::Run(const Task& task) const {
  TaskOutcome outcome;
  if (const auto message = RawMember(task.inputs, "message")) {
    JsonWriter writer(outcome.result);
    writer.BeginObject();
    writer.RawMember("message", *message);
    writer.EndObject();
  } else {
    outcome.result = task.inputs;
  }
  return outcome;
}

}  // namespace everstep
