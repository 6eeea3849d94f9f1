#include "net/http_client.h"

#include <curl/curl.h>
#include <signal.h>

#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/http_transfer.h"

namespace everstep {
namespace {

// Idle connections kept for the next request.
constexpr long kConnectionsKept = 32;
// Only a bound: whatever happens wakes the loop.
constexpr int kPollMilliseconds = 60'000;

HttpOutcome Cancelled() {
  HttpOutcome outcome;
  outcome.failure = HttpFailure::kCancelled;
  outcome.message = "the request was cancelled";
  return outcome;
}

}  // namespace

class HttpClient::Loop {
 public:
  explicit Loop(AddressPolicy policy)
      : policy_(policy), multi_((InitialiseCurl(), curl_multi_init())) {
    EVERSTEP_ASSERT(multi_ != nullptr);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kConnectionsKept);
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  RequestId Send(HttpRequest request, Done done) {
    RequestId id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = ++ids_;
      arrived_.push_back(
          {id, std::make_unique<HttpTransfer>(std::move(request), policy_, std::move(done))});
    }
    curl_multi_wakeup(multi_);
    return id;
  }

  void Cancel(RequestId id) {
    {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(id);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  struct Arrived {
    RequestId id;
    std::unique_ptr<HttpTransfer> transfer;
  };
  using Transfers = std::unordered_map<RequestId, std::unique_ptr<HttpTransfer>>;

  void Run() {
    // A peer that closes must not end the process, and signals are for other threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (TakeOrders()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      if (FinishTransfers()) continue;  // a redirect or a new order may be ready at once
      curl_multi_poll(multi_, nullptr, 0, kPollMilliseconds, nullptr);
    }
    while (!transfers_.empty()) End(transfers_.begin(), Cancelled());
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

  // True: some have ended.
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
  CURLM* const multi_;
  Transfers transfers_;                             // the loop's thread
  std::unordered_map<CURL*, RequestId> by_handle_;  // the loop's thread
  std::mutex mutex_;
  RequestId ids_ = 0;
  std::vector<Arrived> arrived_;
  std::vector<RequestId> cancelled_;
  bool closing_ = false;
  std::thread thread_;
};

HttpClient::HttpClient(AddressPolicy policy) : loop_(std::make_unique<Loop>(policy)) {}

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
