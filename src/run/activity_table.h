#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "run/activity.h"
#include "run/run_progress.h"
#include "run/state_codec.h"

namespace everstep {

// Waits, hooks and children are named after their purpose, activity and attempt: "retry:fetch:2".
struct Purpose {
  std::string_view what;  // wait, retry, timeout, hook, child
  std::string_view activity_id;
  std::uint32_t attempt = 0;
};
std::string PurposeId(std::string_view what, std::string_view activity_id, std::uint32_t attempt);
Purpose PurposeOf(std::string_view id);  // an empty `what`: not of that form

// What an event did to an activity.
struct ActivityChange {
  ActivityNo no = kNoActivity;  // kNoActivity: to none
  EntityStatus before = EntityStatus::kAbsent;
  bool due = false;  // the next attempt may begin: its delay is over, or it has none
};

// The activities of a run with their waits, hooks and children: a fold over the run's log that
// knows nothing of what the activities are for. An event costs the same however many there are.
class ActivityTable {
 public:
  struct OpenWait {
    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.due_at, self.seq);
    }

    Timestamp due_at{};
    EventSeq seq;
  };
  struct OpenHook {
    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.token, self.seq, self.approval);
    }

    std::string token;
    EventSeq seq;
    bool approval = false;  // answered with yes or no
  };
  struct OpenChild {
    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.activity_id, self.seq, self.program);
    }

    std::string activity_id;
    EventSeq seq;
    ProgramRef program;
  };

  // The activity with this id, which becomes known if it is not yet.
  ActivityNo Add(std::string_view id);
  ActivityNo Find(std::string_view id) const;  // kNoActivity: not known
  const Activity& at(ActivityNo no) const { return activities_[no]; }
  std::size_t size() const { return activities_.size(); }

  ActivityChange Apply(const Event& event);
  // A failed activity waits for an operator, or is to be tried again by order of one. Called while
  // an event is folded.
  void Hold(ActivityNo no);
  void Revive(ActivityNo no);
  // The token of the hook that was just recorded belongs to another: the log has a conflict.
  bool LoseHook(const std::string& hook_id);
  // The id of the open hook with this token; null: there is none.
  const std::string* HookWith(const std::string& token) const;
  // Whether the delivery ended an earlier attempt of the activity, which goes on. A token that the
  // program chose is the same in each attempt, so that a repetition would reach the next one.
  bool WasDelivered(std::string_view activity_id, std::string_view delivery_id) const;

  const std::set<ActivityNo>& running() const { return running_; }  // begun, not ended
  const std::set<ActivityNo>& held() const { return held_; }
  const std::map<std::string, OpenWait, std::less<>>& waits() const { return waits_; }
  const std::map<std::string, OpenHook, std::less<>>& hooks() const { return hooks_; }
  const std::map<std::string, OpenChild, std::less<>>& children() const { return children_; }
  const std::set<std::string>& hook_conflicts() const { return hook_conflicts_; }

  // The bytes are the same for tables that were folded from the same log. Decode reads into a new
  // table; it is of no use when the decoder has failed.
  void Encode(StateEncoder& codec) const;
  void Decode(StateDecoder& codec);

 private:
  ActivityChange ApplyStep(const Event& event);
  void ApplyStarted(ActivityNo no, const Event& event);
  void ApplyCompleted(ActivityNo no, const Event& event);
  bool ApplyFailed(ActivityNo no, const Event& event);
  void ApplySkipped(ActivityNo no, const Event& event);
  ActivityChange ApplyWait(const Event& event);
  void ApplyHook(const Event& event);
  void OpenHookAs(const std::string& hook_id, OpenHook hook);
  bool CloseHook(const std::string& hook_id);
  void ApplyChild(const Event& event);
  void ApplyTool(const Event& event);

  std::deque<Activity> activities_;  // by number; references stay valid
  std::unordered_map<std::string_view, ActivityNo> by_id_;
  std::set<ActivityNo> running_;
  std::set<ActivityNo> held_;
  std::map<std::string, OpenWait, std::less<>> waits_;
  std::map<std::string, OpenHook, std::less<>> hooks_;
  std::set<std::pair<std::string, std::string>> tokens_;  // of hooks_: token, id
  std::map<std::string, OpenChild, std::less<>> children_;
  std::set<std::string> hook_conflicts_;
  // By activity: what was delivered to its hooks, until it has succeeded or was skipped.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> delivered_;
};

}  // namespace everstep
