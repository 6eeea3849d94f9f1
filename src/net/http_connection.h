#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "net/address_policy.h"
#include "net/http_answer_reader.h"
#include "net/http_message.h"

namespace everstep {

// One connection to one server, kept from request to request. The calling thread sends and waits
// itself, which costs a fraction of a request through HttpClient; certificates and addresses are
// checked in the same way. One thread, but for Cancel.
class HttpConnection {
 public:
  explicit HttpConnection(AddressPolicy policy);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Opens the connection when there is none, or when the server has closed it. All requests are for
  // one origin. A redirect is an answer like any other; `proxy` is not used. After a failure the
  // request may have been carried out.
  HttpOutcome Exchange(const HttpRequest& request);
  // The exchange that is under way, and all that follow, end with kCancelled. Any thread.
  void Cancel();

 private:
  struct Deadline;

  bool Open(const HttpRequest& request, HttpOutcome& failure);
  bool IsStale() const;
  bool Send(std::string_view bytes, const Deadline& deadline, HttpOutcome& failure);
  bool Receive(const Deadline& deadline, HttpAnswerReader& answer, HttpOutcome& failure);
  bool WaitFor(short events, const Deadline& deadline, HttpOutcome& failure) const;
  void Close();

  const AddressPolicy policy_;
  struct Curl;
  std::unique_ptr<Curl> curl_;  // open while it is set
  int socket_ = -1;             // curl's
  std::string text_;            // of the request
  std::atomic<bool> cancelled_{false};
  const UniqueFd cancel_;  // readable when it is
};

}  // namespace everstep
