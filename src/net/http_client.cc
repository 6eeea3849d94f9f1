#include "net/http_client.h"

#include <curl/curl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "net/http_transfer.h"

namespace everstep {
namespace {

// Idle connections kept for the next request.
constexpr long kConnectionsKept = 32;
constexpr std::size_t kEventsPerRound = 64;

HttpOutcome Cancelled() {
  HttpOutcome outcome;
  outcome.failure = HttpFailure::kCancelled;
  outcome.message = "the request was cancelled";
  return outcome;
}

}  // namespace

// libcurl says which sockets and which time it waits for. The loop waits, and calls libcurl only
// for sockets with events, so the work of a round does not grow with the number of requests that
// wait for answers.
class HttpClient::Loop {
 public:
  Loop(AddressPolicy policy, std::vector<std::string> proxies)
      : policy_(policy),
        proxies_(std::move(proxies)),
        multi_((InitialiseCurl(), curl_multi_init())),
        poll_(::epoll_create1(EPOLL_CLOEXEC)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    EVERSTEP_ASSERT(multi_ != nullptr && poll_ && wake_);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kConnectionsKept);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Loop::WatchSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Loop::SetTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    // Never read, because each write is an event.
    EVERSTEP_ASSERT(Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN | EPOLLET));
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    Wake();
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  RequestId Send(HttpRequest request, Done done) {
    RequestId id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = ++ids_;
      arrived_.push_back({id, std::make_unique<HttpTransfer>(std::move(request), policy_, proxies_,
                                                             std::move(done))});
    }
    Wake();
    return id;
  }

  void Cancel(RequestId id) {
    {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(id);
    }
    Wake();
  }

 private:
  struct Arrived {
    RequestId id;
    std::unique_ptr<HttpTransfer> transfer;
  };
  using Transfers = std::unordered_map<RequestId, std::unique_ptr<HttpTransfer>>;

  void Run() {
    // Block SIGPIPE, because a peer that closes must not end the process, and all other signals,
    // which are for other threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (TakeOrders()) {
      if (FinishTransfers()) continue;  // a new order may have arrived
      WaitAndAct();
    }
    while (!transfers_.empty()) End(transfers_.begin(), Cancelled());
  }

  void Wake() {
    const std::uint64_t one = 1;
    EVERSTEP_ASSERT(::write(wake_.get(), &one, sizeof(one)) == sizeof(one));
  }

  bool Watch(int operation, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    return ::epoll_ctl(poll_.get(), operation, fd, &event) == 0;
  }

  static int WatchSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    Loop& loop = *static_cast<Loop*>(self);
    std::uint32_t events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) events |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
      loop.Watch(EPOLL_CTL_DEL, fd, 0);
    } else if (!loop.Watch(EPOLL_CTL_MOD, fd, events)) {
      EVERSTEP_ASSERT(loop.Watch(EPOLL_CTL_ADD, fd, events));
    }
    return 0;
  }

  static int SetTimer(CURLM*, long milliseconds, void* self) {
    auto& due = static_cast<Loop*>(self)->due_;
    due.reset();
    if (milliseconds >= 0) due = SteadyNow() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  int WaitMilliseconds() const {
    if (!due_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - SteadyNow()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }

  void WaitAndAct() {
    std::array<epoll_event, kEventsPerRound> events;
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), WaitMilliseconds());
    int running = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == wake_.get()) continue;
      int what = 0;
      if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
      if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
      curl_multi_socket_action(multi_, event.data.fd, what, &running);
    }
    if (!due_ || *due_ > SteadyNow()) return;
    due_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }

  // False: the client is closing.
  bool TakeOrders() {
    std::vector<Arrived> arrived;
    std::vector<RequestId> cancelled;
    bool closing = false;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
      cancelled.swap(cancelled_);
      closing = closing_;
    }
    for (Arrived& order : arrived) {
      const auto place = transfers_.emplace(order.id, std::move(order.transfer)).first;
      by_handle_.emplace(place->second->handle(), order.id);
      if (!closing) Begin(place);
    }
    for (const RequestId id : cancelled) {
      if (const auto place = transfers_.find(id); place != transfers_.end()) {
        End(place, Cancelled());
      }
    }
    return !closing;
  }

  void Begin(Transfers::iterator place) {
    HttpOutcome failure;
    if (!place->second->Prepare(failure)) return End(place, std::move(failure));
    EVERSTEP_ASSERT(curl_multi_add_handle(multi_, place->second->handle()) == CURLM_OK);
  }

  void End(Transfers::iterator place, HttpOutcome outcome) {
    const std::unique_ptr<HttpTransfer> transfer = std::move(place->second);
    by_handle_.erase(transfer->handle());
    transfers_.erase(place);
    curl_multi_remove_handle(multi_, transfer->handle());
    transfer->Report(std::move(outcome));
  }

  // True: some transfers have ended.
  bool FinishTransfers() {
    bool some = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      some = true;
      CURL* handle = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto place = transfers_.find(by_handle_.at(handle));
      HttpOutcome outcome;
      if (place->second->Hopped(code, outcome)) {
        curl_multi_remove_handle(multi_, handle);
        Begin(place);
      } else {
        End(place, std::move(outcome));
      }
    }
    return some;
  }

  const AddressPolicy policy_;
  const std::vector<std::string> proxies_;
  CURLM* const multi_;
  const UniqueFd poll_;
  const UniqueFd wake_;
  // Only the loop's thread uses this and the next two.
  std::optional<std::chrono::steady_clock::time_point> due_;
  Transfers transfers_;
  std::unordered_map<CURL*, RequestId> by_handle_;
  std::mutex mutex_;
  RequestId ids_ = 0;
  std::vector<Arrived> arrived_;
  std::vector<RequestId> cancelled_;
  bool closing_ = false;
  std::thread thread_;
};

HttpClient::HttpClient(AddressPolicy policy, std::vector<std::string> proxies)
    : loop_(std::make_unique<Loop>(policy, std::move(proxies))) {}

HttpClient::~HttpClient() = default;

HttpClient::RequestId HttpClient::Send(HttpRequest request, Done done) {
  return loop_->Send(std::move(request), std::move(done));
}

void HttpClient::Cancel(RequestId id) { loop_->Cancel(id); }

HttpOutcome HttpClient::SendAndWait(HttpRequest request) {
  std::promise<HttpOutcome> promise;
  auto outcome = promise.get_future();
  Send(std::move(request), [&promise](HttpOutcome ended) { promise.set_value(std::move(ended)); });
  return outcome.get();
}

}  // namespace everstep
