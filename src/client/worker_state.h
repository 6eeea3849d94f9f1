#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "client/api_client.h"
#include "everstep/worker.h"
#include "wire/work_types.h"

namespace everstep {

// The worker behind the public one. What happens (an answer, the end of a handler, time) changes
// the state under the lock and says which requests are due; they are sent without it.
//
// Two requests can be under way. The first may wait at the server for tasks; the second never does,
// and carries what cannot wait for the first. Results that are ready go together, whichever is free
// next, and each asks for tasks for the slots it frees. A handler thread with nothing else to do
// waits for the first itself: a lone task then goes from hand to hand without waking another
// thread.
class Worker::State {
 public:
  explicit State(WorkerOptions options);

  void Handle(std::string kind, Handler handler);
  Status Run();
  void Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct HeldTask {
    std::string token;
    TaskCall call;
    std::shared_ptr<std::atomic<bool>> stop;
  };
  struct Flight {
    bool open = false;
    std::uint64_t registration = 0;  // it was sent under
    std::shared_ptr<const PollBody> body;
    Time sent_at{};
    ApiClient::RequestId id = 0;
  };
  enum Place : std::size_t { kPatient, kPrompt };
  // A request to send once the lock is free.
  struct Due {
    Place place;
    std::string path;
    std::shared_ptr<const PollBody> body;
  };

  Status Check() const;
  void Register();
  void Registered(Result<WorkerAnswer> answer);
  // `taker`: this thread takes the first task itself.
  void Answered(Place place, Result<PollReply> reply, bool taker);
  void Perform(HttpConnection& connection);  // a handler thread
  void Finish();                             // the end of Run
  static ApiClient::Call PollOf(const Due& request);
  void Send(std::vector<Due> due);

  // ---- mutex_ held
  std::vector<Due> TakeDue();
  void Depart(Place place, std::vector<Due>& due);
  void NoteAnswer(const Flight& flight, const PollReply& reply);
  void TakeReply(PollReply reply, bool taker);
  bool MayWaitFor(const std::vector<Due>& due) const;
  void Return(const Flight& flight, const Error& error);
  void GoAway(const Error& error);
  void LoseAll();
  bool Idle() const;
  Time NextWake() const;

  const WorkerOptions options_;
  std::map<std::string, Handler, std::less<>> handlers_;  // constant while it runs

  std::mutex mutex_;
  std::condition_variable changed_;  // for the thread of Run
  std::condition_variable ready_changed_;
  bool stopping_ = false;  // guarded by mutex_, as all down to threads_
  bool ending_ = false;    // handler threads leave
  std::optional<Error> error_;
  std::string worker_id_;  // empty: not registered
  bool registering_ = false;
  std::uint64_t registration_ = 0;
  std::chrono::milliseconds lease_{30'000};
  std::chrono::milliseconds backoff_{0};
  Time retry_at_{};
  Time beat_at_ = Time::max();
  Time report_at_ = Time::max();  // results wait for others until then
  Time wakes_at_ = Time::max();   // when the thread of Run looks next
  Time ask_at_{};                 // asking for more tasks waits for results until then
  Time busy_until_{};             // tasks keep coming; that thread looks every kGather
  std::unordered_map<std::string, std::shared_ptr<HeldTask>> held_;  // by token; not reported
  std::deque<std::shared_ptr<HeldTask>> ready_;                      // not begun
  std::vector<ReportBody> reports_;                                  // not on their way
  std::array<Flight, 2> flights_;

  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;  // of each
  ApiClient api_;                                             // the last: its answers come here
};

}  // namespace everstep
