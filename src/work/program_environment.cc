#include "work/program_environment.h"

#include <map>

namespace everstep {

std::string ProgramPath(const Environment& environment) {
  std::string path = environment ? environment("PATH").value_or("") : "";
  return path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path;
}

std::vector<std::string> ProgramEnvironment(
    const Environment& environment, const Task& task,
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::map<std::string, std::string> variables;
  for (const char* name : {"HOME", "LANG", "TZ"}) {
    auto value = environment ? environment(name) : std::nullopt;
    if (value) variables[name] = *std::move(value);
  }
  variables["PATH"] = ProgramPath(environment);
  variables["EVERSTEP_RUN_ID"] = task.id.run_id.value();
  variables["EVERSTEP_STEP_ID"] = task.id.step_id;
  variables["EVERSTEP_ATTEMPT"] = std::to_string(task.id.logical_attempt);
  variables["EVERSTEP_IDEMPOTENCY_KEY"] = task.idempotency_key;
  for (const auto& [name, value] : more) variables[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace everstep
