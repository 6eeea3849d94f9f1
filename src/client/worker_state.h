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

// The implementation of Worker. Each occurrence (a response, the end of a handler, a timeout)
// updates the state with mutex_ held and determines which requests are due. Requests are sent
// without the lock.
//
// At most two requests are in flight. The patient one may wait at the server for tasks (a long
// poll); the prompt one never waits and carries what must not wait for the patient one. Results
// that are ready are sent together with whichever request is free next, and each request also asks
// for tasks to fill free slots. A handler thread with nothing else to do sends the patient request
// itself and blocks on it, so a single task is received, run and reported without waking another
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
    std::uint64_t registration = 0;  // value of registration_ when it was sent
    std::shared_ptr<const PollBody> body;
    Time sent_at{};
    ApiClient::RequestId id = 0;
  };
  enum Place : std::size_t { kPatient, kPrompt };
  // A request to send once the lock is released.
  struct Due {
    Place place;
    std::string path;
    std::shared_ptr<const PollBody> body;
  };

  Status Check() const;
  void Register();
  void Registered(Result<WorkerAnswer> answer);
  // `taker`: the calling thread runs the first task itself.
  void Answered(Place place, Result<PollReply> reply, bool taker);
  void Perform(HttpConnection& connection);  // main loop of a handler thread
  void Finish();                             // last part of Run
  static ApiClient::Call PollOf(const Due& request);
  void Send(std::vector<Due> due);

  // ---- Must be called with mutex_ held.
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
  std::map<std::string, Handler, std::less<>> handlers_;  // constant while Run is in progress

  std::mutex mutex_;                       // guards stopping_ … flights_
  std::condition_variable changed_;        // wakes the thread in Run
  std::condition_variable ready_changed_;  // wakes handler threads
  bool stopping_ = false;
  bool ending_ = false;  // handler threads must exit
  std::optional<Error> error_;
  std::string worker_id_;  // empty: not registered
  bool registering_ = false;
  std::uint64_t registration_ = 0;
  std::chrono::milliseconds lease_{30'000};
  std::chrono::milliseconds backoff_{0};
  Time retry_at_{};
  Time beat_at_ = Time::max();
  Time report_at_ = Time::max();  // results wait until then, to be sent together
  Time wakes_at_ = Time::max();   // when the thread in Run wakes next
  Time ask_at_{};                 // no request for more tasks before then
  Time busy_until_{};             // until then the thread in Run wakes every kGather
  std::unordered_map<std::string, std::shared_ptr<HeldTask>> held_;  // by token; without a result
  std::deque<std::shared_ptr<HeldTask>> ready_;                      // not started
  std::vector<ReportBody> reports_;                                  // not sent
  std::array<Flight, 2> flights_;

  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;  // one per thread
  ApiClient api_;  // must be destroyed first: its callbacks use this object
};

}  // namespace everstep
