#pragma once

#include "base/clock.h"
#include "net/http_client.h"
#include "queue/message_queue.h"

namespace everstep {

// Carries messages by POST. The message is in the body and in these headers, besides its own:
//   everstep-queue, everstep-message-id, everstep-attempt (from 1)
//   everstep-signature: t=<seconds since 1970>,v1=<hexadecimal HMAC-SHA256>
// over "<t>.<queue>.<message id>.<attempt>.<body>". Answers: 2xx
// is done, unless the body is {"timeoutSeconds":n}: then the same message comes again after that;
// anything else has failed. An answer may take as long as it likes.
class HttpCourier final : public MessageCourier {
 public:
  // `allow_private`: applications on other machines may have private addresses.
  HttpCourier(Clock& clock, bool allow_private);

  void Deliver(Delivery delivery, std::function<void(DeliveryOutcome)> done) override;

 private:
  Clock& clock_;
  HttpClient near_;  // also to loopback
  HttpClient far_;
};

// What an answer says.
DeliveryOutcome OutcomeOf(const HttpOutcome& outcome);

}  // namespace everstep
