// Replaying and purging dead letters.

#include <algorithm>

#include "bus/sink_pump.h"

namespace everstep {
namespace {

constexpr std::size_t kLettersAhead = 100;
constexpr std::size_t kLettersAtOnce = 256;

}  // namespace

bool SinkPump::CanFeedReplay() const {
  return replay_next_ < replay_.letters.size() && queue_.letters_waiting() < kLettersAhead;
}

Status SinkPump::Begin(Replay replay) {
  if (replay_next_ < replay_.letters.size() || queue_.letters_waiting() > 0) {
    return Error{ErrorCode::kInvalidArgument, "a replay of this sink is already in progress", {}};
  }
  replay_ = std::move(replay);
  replay_next_ = 0;
  replay_at_ = {};
  replayed_runs_.clear();
  failed_runs_.clear();
  Publish();
  return Ok();
}

void SinkPump::FeedReplay(Moment now) {
  if (replay_next_ == replay_.letters.size()) {
    const bool settled = queue_.letters_waiting() == 0 && unsaved_.died.empty();
    if (replayed_runs_.empty() || !settled) return;
    if (!FindMoreLetters()) replayed_runs_.clear();
  }
  while (CanFeedReplay()) {
    if (replay_.per_second > 0 && now < replay_at_) return;
    const auto& [run_id, seq] = replay_.letters[replay_next_++];
    if (holds() && failed_runs_.contains(run_id.value())) continue;
    if (!FeedLetter(run_id, seq) || replay_.per_second <= 0) continue;
    const std::chrono::duration<double> step(1 / replay_.per_second);
    replay_at_ = std::max(replay_at_, now) + std::chrono::duration_cast<Moment::duration>(step);
  }
}

bool SinkPump::FeedLetter(const RunId& run_id, EventSeq seq) {
  auto reader = parts_.store.Read();
  const auto letters = reader->ListDeadLetters({.sink = mark_.key,
                                                .run_id = run_id,
                                                .after_run = run_id,
                                                .after_seq = EventSeq(seq.value() - 1),
                                                .limit = 1});
  if (!letters || letters->empty() || letters->front().seq != seq) return false;
  const DeadLetter& letter = letters->front();
  QueuedEvent queued;
  const auto run = reader->FindRun(run_id);
  EventQuery query;
  query.after = EventSeq(seq.value() - 1);
  query.until = seq;
  const auto events = run && *run ? reader->ReadEvents(**run, query)
                                  : Result<std::vector<Event>>(std::vector<Event>());
  reader.reset();
  const bool is_damaged = !run || !events;
  const bool there = events && !events->empty();
  if (!there || !renderer_.Render(**run, events->front(), queued)) {
    // The run is gone or the sink's filter changed: fail the letter once more and keep it.
    queued.run_id = run_id;
    queued.seq = seq;
    queued.type = letter.type;
    queued.persisted_at = letter.persisted_at;
    queued.fault = there        ? "the sink's filter does not match it"
                   : is_damaged ? "cannot read the event: " +
                                      (run ? events.error().message : run.error().message)
                                : "its run no longer exists";
  }
  queued.letter = true;
  queued.attempts = letter.attempts;
  replayed_runs_.insert(run_id.value());
  queue_.Add(std::move(queued));
  return true;
}

// Events that arrived while their run was being replayed were held; replay them too.
bool SinkPump::FindMoreLetters() {
  if (!holds()) return false;
  const auto last = [this](const std::string& run) {
    const auto mine =
        std::ranges::find_if(replay_.letters.rbegin(), replay_.letters.rend(),
                             [&](const auto& letter) { return letter.first.value() == run; });
    return mine == replay_.letters.rend() ? EventSeq() : mine->second;
  };
  std::vector<std::pair<RunId, EventSeq>> more;
  const auto reader = parts_.store.Read();
  for (const std::string& run : replayed_runs_) {
    if (failed_runs_.contains(run)) continue;
    const RunId run_id(run);
    const auto letters = reader->ListDeadLetters({.sink = mark_.key,
                                                  .run_id = run_id,
                                                  .after_run = run_id,
                                                  .after_seq = last(run),
                                                  .limit = kLettersAtOnce});
    if (!letters) continue;
    for (const DeadLetter& letter : *letters) more.emplace_back(run_id, letter.seq);
  }
  if (more.empty()) return false;
  replay_.letters = std::move(more);
  replay_next_ = 0;
  return true;
}

Status SinkPump::Purge(const std::vector<std::pair<RunId, EventSeq>>& letters) {
  // A write of its own: if it fails, a later write must not remove these letters.
  const Status purged = parts_.committer.CarryOut(SinkMove{mark_, {}, letters});
  if (purged) ReadLetterCount();
  Publish();
  return purged;
}

}  // namespace everstep
