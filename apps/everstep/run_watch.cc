#include "run_watch.h"

#include <algorithm>
#include <chrono>

#include "actor.h"
#include "run_drawing.h"

namespace everstep::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWait{100};
constexpr milliseconds kViewEvery{100};
constexpr milliseconds kStaleAfter{1'000};  // queue positions change without an event of the run
constexpr int kViewShare = 4;  // pause this many times as long as a view took: plans may be large
constexpr std::size_t kEventsAtOnce = 1'000;

SystemTime Now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace

ExitCode ExitCodeOfRun(std::string_view status) {
  if (status == "COMPLETED") return ExitCode::kOk;
  if (status == "FAILED") return ExitCode::kRunFailed;
  if (status == "CANCELLED") return ExitCode::kRunCancelled;
  return ExitCode::kRunPaused;
}

Result<ExitCode> RunWatch::Follow() {
  auto events = engine_.log().Subscribe(subject_.run_id, subject_.after);
  if (!events) return std::move(events).error();
  while (true) {
    if (const Status looked = Look(**events); !looked) return looked.error();
    if (view_.substatus == "WAITING_APPROVAL" && !asked_) {
      asked_ = true;
      progress_.Say("waiting for approval: " + subject_.approve_command);
    }
    TellAlerts();
    progress_.Show(view_, Now());
    if (HasEnded(view_.status) || IsLeft()) return Finish(**events);
    if (out_.gone()) return ExitCode::kInterrupted;
    Attend();
  }
}

Status RunWatch::Look(Subscription& events) {
  const auto fresh = events.Next(kEventsAtOnce, kWait);
  if (!fresh) return fresh.error();
  changed_ = changed_ || !fresh->empty();
  progress_.Happened(*fresh);
  const auto begin = std::chrono::steady_clock::now();
  if (begin < next_view_ || (!changed_ && begin < stale_at_)) return Ok();
  auto view = engine_.View(subject_.run_id);
  if (!view) return std::move(view).error();
  view_ = *std::move(view);
  changed_ = false;
  const auto end = std::chrono::steady_clock::now();
  next_view_ = end + std::max<std::chrono::nanoseconds>(kViewEvery, kViewShare * (end - begin));
  stale_at_ = end + kStaleAfter;
  return Ok();
}

void RunWatch::Attend() {
  if (out_.interrupts() <= attended_) return;
  if (wish_ == Wish::kNone) {
    wish_ = Wish::kPause;
    if (view_.status != "PAUSED") Order("PAUSE", "interrupted by its user");
  } else if (wish_ == Wish::kPause && !refused_) {
    wish_ = Wish::kCancel;
    Order("CANCEL", "interrupted twice by its user");
  }
  attended_ = out_.interrupts();
}

void RunWatch::TellAlerts() {
  if (subject_.alerts == nullptr) return;
  for (const Alert& alert : subject_.alerts->Since(alerts_seen_)) {
    const bool is_ours = alert.run_id.empty() || alert.run_id == subject_.run_id;
    if (is_ours || subject_.all_alerts) progress_.Say(AlertText(alert));
  }
}

void RunWatch::Order(std::string_view type, std::string_view reason) {
  SignalRequest request;
  request.run_id = subject_.run_id;
  request.tenant_id = subject_.tenant_id;
  request.type = type;
  request.reason = reason;
  request.actor = LocalActor("Admin");
  changed_ = true;
  next_view_ = {};
  const auto decision = engine_.Signal(request);
  const bool is_accepted = decision && decision->decision == "ACCEPTED";
  if (is_accepted) {
    progress_.Say(type == "PAUSE"
                      ? "pausing: waiting for the running steps; interrupt again to cancel the run"
                      : "cancelling: waiting for the running steps");
    return;
  }
  // If the run has just ended or is already paused, its status shows that.
  refused_ = type == "PAUSE";
  const std::string why =
      decision ? decision->code + " " + decision->reason
               : std::string(Name(decision.error().code)) + " " + decision.error().message;
  progress_.Say(std::string(type) + " was refused: " + Printable(why));
}

bool RunWatch::IsLeft() const {
  if (wish_ != Wish::kPause || changed_) return false;
  const bool is_paused = view_.status == "PAUSED" && view_.substatus.empty();
  return is_paused || refused_;
}

ExitCode RunWatch::Finish(Subscription& events) {
  while (true) {
    const auto rest = events.Next(kEventsAtOnce, milliseconds(0));
    if (!rest || rest->empty()) break;
    progress_.Happened(*rest);
  }
  if (auto view = engine_.View(subject_.run_id)) view_ = *std::move(view);
  TellAlerts();
  progress_.Finish(view_, Now());
  if (!HasEnded(view_.status)) progress_.Say("continue with: " + subject_.resume_command);
  return ExitCodeOfRun(view_.status);
}

}  // namespace everstep::cli
