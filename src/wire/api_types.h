#pragma once

#include <optional>
#include <string>
#include <vector>

#include "everstep/log.h"
#include "wire/engine_types.h"

namespace everstep {

template <typename F>
void Describe(F& f, Fault& fault) {
  f("pointer", fault.pointer);
  f.Required("message", fault.message);
  f("line", fault.line);
  f("column", fault.column);
}

// The result for one event of a batch: its position, or the reason for the rejection.
struct AppendAnswer {
  std::optional<Appended> appended;
  std::string code;  // of a rejection
  std::string detail;
  std::vector<Fault> faults;

  static AppendAnswer Of(Result<Appended> result);
  Result<Appended> ToResult() &&;
};
template <typename F>
void Describe(F& f, AppendAnswer& answer) {
  f("appended", answer.appended);
  f("code", answer.code);
  f("detail", answer.detail);
  f("faults", answer.faults);
}

struct AppendAnswers {
  std::vector<AppendAnswer> results;  // in the order of the events
};
template <typename F>
void Describe(F& f, AppendAnswers& answers) {
  f.Required("results", answers.results);
}

// A waiting hook, as shown on an approval page.
struct HookView {
  std::string token;
  std::string run_id;
  std::string hook_id;
  std::string step_id;
  std::string plan_id;
  std::string status;  // of the run
  std::string kind;    // approval, hook; empty: not created by a plan
  std::string prompt;  // the question for the approver
  std::optional<SystemTime> created_at;
  std::optional<SystemTime> until;
};
template <typename F>
void Describe(F& f, HookView& hook) {
  f("token", hook.token);
  f.Required("runId", hook.run_id);
  f("hookId", hook.hook_id);
  f("stepId", hook.step_id);
  f("planId", hook.plan_id);
  f("status", hook.status);
  f("kind", hook.kind);
  f("prompt", hook.prompt);
  f("createdAt", hook.created_at);
  f("until", hook.until);
}

struct StepList {
  std::vector<StepView> steps;
};
template <typename F>
void Describe(F& f, StepList& list) {
  f.Required("steps", list.steps);
}

struct RunCounts {
  std::uint64_t events = 0;
  std::vector<std::uint64_t> runs;  // by status, as in LogHealth::runs_by_status
};
template <typename F>
void Describe(F& f, RunCounts& counts) {
  f.Required("events", counts.events);
  f.Required("runs", counts.runs);
}

}  // namespace everstep
