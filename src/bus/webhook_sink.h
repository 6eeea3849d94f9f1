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

// The secrets of a sink, the newest first. Asked now and then, so that a changed one is seen.
using ReadWebhookSecrets = std::function<Result<std::vector<WebhookSecret>>()>;

// Posts messages to a URL, signed as Standard Webhooks asks: every secret signs. With batches of
// one the body is the message; else a JSON array of them. Redirects are not followed, 410 ends the
// sink. `client` and `clock` must outlive it.
std::unique_ptr<Sink> NewWebhookSink(const SinkDefinition& sink, HttpClient& client, Clock& clock,
                                     ReadWebhookSecrets secrets);

// How an answer is taken.
Outcome OutcomeOf(const HttpOutcome& answer, Timestamp now);

}  // namespace everstep
