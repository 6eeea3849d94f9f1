#pragma once

#include <string>

#include "alert_board.h"
#include "everstep/engine.h"
#include "output.h"
#include "progress.h"

namespace everstep::cli {

// Follows a run until it ends or is interrupted: the first interrupt pauses the run and waits for
// its running steps, the second cancels the run. Interrupts that arrive before the first one was
// handled count as one.
class RunWatch {
 public:
  struct Subject {
    std::string run_id;
    std::string tenant_id;
    std::uint64_t after = 0;      // events up to here have been seen
    std::string resume_command;   // shown when the run is paused
    std::string approve_command;  // shown when it waits for an approval to start
    AlertBoard* alerts = nullptr;
    bool all_alerts = false;  // false: only those of this run and those of no run
  };

  RunWatch(Engine& engine, Subject subject, Progress& progress, Output& out)
      : engine_(engine), subject_(std::move(subject)), progress_(progress), out_(out) {}

  // Returns the exit code for the final state of the run. It is meaningless if out.gone().
  Result<ExitCode> Follow();

 private:
  enum class Wish : std::uint8_t { kNone, kPause, kCancel };

  Status Look(Subscription& events);  // reads new events and refreshes the view
  void Attend();                      // handles interrupts
  void TellAlerts();
  void Order(std::string_view type, std::string_view reason);
  bool IsLeft() const;
  ExitCode Finish(Subscription& events);

  Engine& engine_;
  const Subject subject_;
  Progress& progress_;
  Output& out_;
  RunView view_;
  bool changed_ = true;
  std::chrono::steady_clock::time_point next_view_{};
  std::chrono::steady_clock::time_point stale_at_{};
  Wish wish_ = Wish::kNone;
  int attended_ = 0;  // interrupts handled
  std::uint64_t alerts_seen_ = 0;
  bool refused_ = false;  // PAUSE was refused
  bool asked_ = false;    // for the approval; only once
};

// Returns 0 for COMPLETED, 1 FAILED, 8 CANCELLED, 9 PAUSED or any other status.
ExitCode ExitCodeOfRun(std::string_view status);

}  // namespace everstep::cli
