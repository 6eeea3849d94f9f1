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

// One connection to one server, kept open between requests. The calling thread sends and waits
// itself, which costs a fraction of a request through HttpClient. Certificates and addresses are
// checked in the same way. Used by one thread, except for Cancel.
class HttpConnection {
 public:
  explicit HttpConnection(AddressPolicy policy);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Opens the connection if there is none or the server has closed it. All requests must be for one
  // origin. Redirects are returned, not followed; `proxy` is not supported. After a failure the
  // request may have been carried out.
  HttpOutcome Exchange(const HttpRequest& request);
  // Ends the exchange in flight and all later ones with kCancelled. Any thread.
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
  int socket_ = -1;             // owned by curl_
  std::string text_;            // the request as sent
  std::atomic<bool> cancelled_{false};
  const UniqueFd cancel_;  // readable once cancelled
};

}  // namespace everstep
