#include <unistd.h>

#include <utility>

#include "base/assert.h"
#include "net/http_server.h"
#include "small_server.h"

namespace everstep {
namespace {

class Echo final : public HttpHandler {
 public:
  void Handle(HttpCall call) override {
    ServerRequest& request = call.request();
    ServerResponse response;
    response.headers = {{"Content-Type", "application/json"}};
    response.body = request.method == "GET" ? std::string(kSmallAnswer) : std::move(request.body);
    call.Reply(std::move(response));
  }
  BodyTerms TermsOfBody(const ServerRequest&) override { return {.bytes_max = 1 << 20}; }
};

}  // namespace

void ServeWithNet(const Ready& ready) {
  Echo handler;
  HttpServerOptions options;
  options.listen = {"127.0.0.1:0"};
  const auto server = HttpServer::Start(options, handler);
  EVERSTEP_ASSERT(server.has_value());
  ready((*server)->addresses().front());
  while (true) ::pause();
}

}  // namespace everstep
