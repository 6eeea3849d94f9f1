#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address_policy.h"
#include "net/http_message.h"

namespace everstep {

// Sends HTTP requests, many at once, on its own thread. Verifies certificates; ignores netrc files
// and the proxy variables of the environment. The policy checks each address when it is connected
// to, and again for every redirect. A proxy resolves names itself, so for a proxied request only
// the host in the URL is checked. A redirect to another origin drops all headers but the harmless
// ones, and no redirect from https to http is followed. A request other than GET or HEAD is sent
// once per hop: if the connection breaks, it fails. Thread-safe.
class HttpClient {
 public:
  using RequestId = std::uint64_t;
  using Done = std::function<void(HttpOutcome)>;

  // `proxies`: the proxies that requests may use, as URLs with a port. They may have any address,
  // because the operator listed them. "*" allows any proxy whose address the policy allows. By
  // default there are none.
  explicit HttpClient(AddressPolicy policy, std::vector<std::string> proxies = {});
  // Requests in flight end with kCancelled before the destructor returns.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `done` is called once, on the client's thread or the destructor's, and must not block.
  RequestId Send(HttpRequest request, Done done);
  // Ends the request with kCancelled unless it has already ended. Unknown ids are ignored.
  void Cancel(RequestId id);
  // Waits for the outcome. Must not be called from a `done`.
  HttpOutcome SendAndWait(HttpRequest request);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace everstep
