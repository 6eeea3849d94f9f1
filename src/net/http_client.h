#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address_policy.h"
#include "net/http_message.h"

namespace everstep {

// Sends HTTP requests, many at once, on one thread of its own. Certificates are checked; netrc
// files and proxy variables of the environment are not read. Each address is checked by the policy
// when it is connected to, and again for every redirect. A proxy resolves names itself: behind one
// only the host in the URL is checked. A redirect to another origin loses all headers but the
// harmless ones, and none leads from https to http. A request that is not GET or HEAD is sent once
// to each place: if the connection breaks it fails. Thread-safe.
class HttpClient {
 public:
  using RequestId = std::uint64_t;
  using Done = std::function<void(HttpOutcome)>;

  // `proxies`: those that requests may name, as URLs with the port; they may have any address,
  // because the operator named them. "*": any whose own address the policy allows. By default none.
  explicit HttpClient(AddressPolicy policy, std::vector<std::string> proxies = {});
  // Requests that are under way end with kCancelled before it returns.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `done` is called once, on the client's thread or the destructor's, and must not block.
  RequestId Send(HttpRequest request, Done done);
  // The request ends with kCancelled, unless it has just ended otherwise. Unknown ids are ignored.
  void Cancel(RequestId id);
  // Waits for the outcome. Not from inside a `done`.
  HttpOutcome SendAndWait(HttpRequest request);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace everstep
