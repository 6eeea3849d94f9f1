#pragma once

#include "base/clock.h"
#include "net/http_client.h"
#include "queue/message_queue.h"

namespace everstep {

// Delivers messages by POST. The request has the body and headers of the message, and in addition:
//   everstep-queue, everstep-message-id, everstep-attempt (from 1)
//   everstep-signature: t=<seconds since 1970>,v1=<hexadecimal HMAC-SHA256>
// The signature covers "<t>.<queue>.<message id>.<attempt>.<body>". A 2xx response means that the
// message is done, unless the body is {"timeoutSeconds":n}: then the same message is delivered
// again after that time. Any other status is a failure. There is practically no limit on the time
// to respond.
class HttpCourier final : public MessageCourier {
 public:
  // `allow_private`: deliver to private addresses, too.
  HttpCourier(Clock& clock, bool allow_private);

  void Deliver(Delivery delivery, std::function<void(DeliveryOutcome)> done) override;

 private:
  Clock& clock_;
  HttpClient near_;  // may connect to loopback addresses
  HttpClient far_;   // may not
};

// Maps the outcome of the request to the outcome of the delivery.
DeliveryOutcome OutcomeOf(const HttpOutcome& outcome);

}  // namespace everstep
