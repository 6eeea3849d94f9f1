#pragma once

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "run/activity_path.h"
#include "run/program.h"
#include "run/program_library.h"

namespace everstep {

// The smallest kind of program that uses all that the port offers: steps one after the other, each
// a line of its document.
//
//   tool KIND             calls a tool, twice if need be
//   try KIND              likewise, and goes on if it fails
//   ask KIND [0 SECONDS]  calls a tool that hands over a token; the answer comes by its hook, and
//                         until then a heartbeat every so often
//   wait TOKEN
//   sleep SECONDS
//   run FORMAT PROGRAM    a child; in PROGRAM, ';' stands for the end of a line
//   again N LINE          goes back to LINE until it was visited N times
//   fail CODE
//
// UPDATE_PARAMS with {"cancel": ID} cancels the activity if it is under way.
class RelayProgram final : public Program {
 public:
  struct Line {
    std::string verb;
    std::string word;
    std::uint32_t target = 0;
    std::string document;
    ActivitySpec spec;
  };
  using Lines = std::vector<Line>;

  RelayProgram(std::shared_ptr<const Lines> lines, ExecutionState& state)
      : lines_(std::move(lines)), state_(state), visits_(lines_->size()) {}

  void Apply(const Event& event, const ActivityChange& change) override {
    if (change.due) retry_ = true;
    if (event.type == EventType::kContextUpdated && event.entity_id == "back") at_ = line().target;
    if (event.type == EventType::kStepStarted) {
      if (change.before == EntityStatus::kAbsent) ++visits_[at_];
      retry_ = aside_ = false;
    }
    const bool failed = event.type == EventType::kStepFailed && !event.facts.will_retry;
    const bool goes_on = failed && line().verb == "try" && !state_.run.is_ending();
    if (event.type == EventType::kStepCompleted || event.type == EventType::kStepSkipped ||
        goes_on) {
      ++at_;
      retry_ = false;
      while (at_ < lines_->size() && IsLoopOver(line())) ++at_;
    } else if (failed) {
      state_.run.BeginEnding(RunProgress::Ending::kFailing, event.seq, event.facts.error_code,
                             event.facts.error_message);
    }
  }
  void Encode(StateEncoder& codec) const override { codec(at_, visits_, retry_); }
  void Decode(StateDecoder& codec) override {
    codec(at_, visits_, retry_);
    if (at_ > lines_->size() || visits_.size() != lines_->size()) codec.Fail();
  }

  bool Next(Commands& commands) override {
    if (at_ == lines_->size()) return commands.Complete(R"("done")"), true;
    if (line().verb == "fail") return commands.Fail(line().word, "the program says so"), true;
    if (line().verb == "again") {
      Event back;
      back.type = EventType::kContextUpdated;
      back.entity_id = "back";
      commands.Record(std::move(back));
      return true;
    }
    const ActivityNo no = Current();
    const Value unwanted = state_.run.inputs.Get("cancel");
    const bool cancels = no != kNoActivity && unwanted.kind() == Value::Kind::kText &&
                         unwanted.text() == state_.activities.at(no).id;
    if (cancels && commands.Cancel(no, "an operator does not want it")) return true;
    const bool waits = no != kNoActivity && !retry_;  // for its end, or for its next attempt
    if (!commands.may_start() || waits || aside_) return false;
    commands.Schedule(state_.activities.Add(IdOfVisit(visits_[at_] + (retry_ ? 0 : 1))));
    return true;
  }
  void SetAside(ActivityNo) override { aside_ = true; }
  void PutBack(ActivityNo) override { aside_ = false; }

  Work WorkOf(ActivityNo) const override {
    const std::string& verb = line().verb;
    if (verb == "sleep") return Work::kTimer;
    if (verb == "wait") return Work::kHook;
    return verb == "run" ? Work::kChild : Work::kTool;
  }
  const ActivitySpec& SpecOf(ActivityNo) const override { return line().spec; }
  Result<AttemptSpec> AttemptOf(ActivityNo no, const AttemptContext& context) const override {
    AttemptSpec attempt;
    switch (WorkOf(no)) {
      case Work::kTimer:
        attempt.due_at = context.now + std::chrono::seconds(std::stoi(line().word));
        break;
      case Work::kHook:
        attempt.hook.emplace().token = line().word;
        break;
      case Work::kChild:
        attempt.child = {line().word, state_.run.origin.children.at(line().document)};
        break;
      default:
        if (context.hook_token.empty()) break;
        attempt.inputs = Value::Map(ValueMap{{"token", Value::Text(context.hook_token)}});
    }
    return attempt;
  }
  ActivityNo NumberOf(std::string_view id) override { return state_.activities.Add(id); }
  ActivityNo Named(std::string_view id) override { return state_.activities.Find(id); }
  std::optional<OrderRefusal> Refusal(ActivityNo no, StepOrder) const override {
    if (at_ < lines_->size() && no == Current()) return {};
    return OrderRefusal{ErrorCode::kStepTerminal, "the program has gone on"};
  }
  void View(RunView& view) const override {
    for (ActivityNo no = 0; no < state_.activities.size(); ++no) {
      const Activity& activity = state_.activities.at(no);
      if (activity.status == EntityStatus::kAbsent) continue;
      StepView& step = view.steps.emplace_back();
      step.step_id = activity.id;
      step.status = Name(activity.status);
      step.logical_attempt = activity.logical_attempt;
    }
    std::ranges::sort(view.steps, {}, &StepView::step_id);
  }
  EventSeq CauseOf(std::string_view) const override { return state_.run.started_seq; }

 private:
  const Line& line() const { return (*lines_)[std::min<std::size_t>(at_, lines_->size() - 1)]; }
  std::string IdOfVisit(std::uint32_t visit) const {
    const auto index = static_cast<std::uint32_t>(at_);
    return ActivityPath().Child("line").At(index).Child("work", visit).Id();
  }
  // The line's activity, if it has begun and not succeeded.
  ActivityNo Current() const {
    const ActivityNo no = state_.activities.Find(IdOfVisit(std::max(1U, visits_[at_])));
    if (no == kNoActivity) return no;
    const EntityStatus status = state_.activities.at(no).status;
    const bool open = status == EntityStatus::kRunning || status == EntityStatus::kFailed;
    return open ? no : kNoActivity;
  }
  bool IsLoopOver(const Line& line) const {
    return line.verb == "again" && visits_[line.target] >= std::stoul(line.word);
  }

  const std::shared_ptr<const Lines> lines_;
  ExecutionState& state_;
  std::uint64_t at_ = 0;
  std::vector<std::uint32_t> visits_;
  bool retry_ = false;  // the visit failed and its next attempt may begin
  bool aside_ = false;  // of this process: it waits for a slot or a tool
};

class RelayFormat final : public ProgramFormat {
 public:
  std::string_view name() const override { return "relay"; }
  Result<std::shared_ptr<const CompiledProgram>> Read(std::string_view document) const override;
  Result<std::shared_ptr<const CompiledProgram>> ReadAgain(std::string_view text) const override {
    return Read(text);
  }
};

class CompiledRelay final : public CompiledProgram {
 public:
  CompiledRelay(RelayProgram::Lines lines, std::string sha256)
      : lines_(std::make_shared<RelayProgram::Lines>(std::move(lines))),
        ref_{"relay", std::move(sha256)} {}
  const ProgramRef& ref() const override { return ref_; }
  std::string_view id() const override { return "relay"; }
  std::string_view version() const override { return "1"; }
  Result<Value> CheckInputs(std::string_view) const override { return Value::Map(ValueMap{}); }
  std::vector<Child> children() const override {
    std::vector<Child> children;
    for (const RelayProgram::Line& line : *lines_) {
      if (line.verb == "run") children.push_back({line.document, line.word, {}, line.document, {}});
    }
    return children;
  }
  std::unique_ptr<Program> Instantiate(ExecutionState& state) const override {
    return std::make_unique<RelayProgram>(lines_, state);
  }
  const RelayProgram::Lines& lines() const { return *lines_; }

 private:
  const std::shared_ptr<const RelayProgram::Lines> lines_;
  const ProgramRef ref_;
};

inline Result<std::shared_ptr<const CompiledProgram>> RelayFormat::Read(
    std::string_view document) const {
  RelayProgram::Lines lines;
  std::istringstream in{std::string(document)};
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    RelayProgram::Line& line = lines.emplace_back();
    std::uint32_t heartbeat = 0;
    words >> line.verb >> line.word;
    if (line.verb == "run") {
      std::getline(words >> std::ws, line.document);
      std::ranges::replace(line.document, ';', '\n');
    } else {
      words >> line.target >> heartbeat;
    }
    line.spec.kind = line.word;
    line.spec.attempts_max = 2;
    line.spec.retry_rules = {{.error_codes = {"BUSY"}, .initial_delay = Milliseconds(0)},
                             {.retries_max = 1, .initial_delay = Milliseconds(1000)}};
    line.spec.answered_by_hook = line.verb == "ask";
    if (line.spec.answered_by_hook) line.spec.timeout = std::chrono::seconds(60);
    if (heartbeat > 0) line.spec.heartbeat_timeout = std::chrono::seconds(heartbeat);
  }
  return std::shared_ptr<const CompiledProgram>(
      std::make_shared<CompiledRelay>(std::move(lines), ToHex(Sha256(document))));
}

}  // namespace everstep
