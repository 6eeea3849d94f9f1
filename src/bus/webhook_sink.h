#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "bus/sink.h"
#include "bus/sink_definition.h"
#include "bus/webhook_signature.h"
#include "net/http_client.h"

namespace everstep {

// Reads the secrets of a sink, newest first. Called periodically, so that a rotation takes effect.
using ReadWebhookSecrets = std::function<Result<std::vector<WebhookSecret>>()>;

// Posts messages to a URL, signed with every secret as in Standard Webhooks. With batches of one
// the body is the message, otherwise a JSON array of messages. Redirects are not followed; 410
// disables the sink. `client` and `clock` must outlive the sink.
std::unique_ptr<Sink> NewWebhookSink(const SinkDefinition& sink, HttpClient& client, Clock& clock,
                                     ReadWebhookSecrets secrets);

// Maps an HTTP result to an outcome.
Outcome OutcomeOf(const HttpOutcome& answer, Timestamp now);

}  // namespace everstep
