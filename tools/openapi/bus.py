"""Sinks, dead letters, and inbound events."""

from runs import JSON
from plans import PAGED
from shapes import Example, Operation, anything, query, ref, text

SINK = {
    "sinkId": "ledger", "state": "ACTIVE", "position": 4, "lag": 0, "ageMs": 0, "delivered": 0,
    "failures": 0, "waiting": 0, "inFlight": 0, "deadLetters": 0, "replaying": 0,
    "definition": {"sinkId": "ledger", "kind": "file", "from": "now", "dialect": "native",
                   "payloadBytes": 262144}}
RULE = {"ruleId": "orders", "types": ["com.acme.order.*"],
        "start": {"planId": "order", "inputs": {"number": "{{ event.data.number }}"}}}
CLOUD = "application/cloudevents+json"
CLOUD_BATCH = "application/cloudevents-batch+json"
EVENT = {"specversion": "1.0", "id": "a-1", "source": "/shop", "type": "com.acme.refund",
         "data": {"number": 7}}
RECEIVED = {"results": [{"eventId": "a-1", "matches": []}]}
NOT_THERE = {"type": "/docs/errors/DEAD_LETTER_NOT_FOUND", "title": "There is no such dead letter",
             "status": 404, "code": "DEAD_LETTER_NOT_FOUND",
             "detail": "sink ledger has no dead letter order-7:3",
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}

OPERATIONS = [
    Operation(
        "GET", "/v1/sinks", "listSinks", "Sinks", "sink.read", "List sinks",
        "Returns the tenant's sinks; with `tenant.any` also those of the server's settings.",
        [Example("sinks", "all of them", 200, {"sinks": [SINK]})],
        answers={"200": ("The sinks.", {JSON: ref("SinkList")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}", "getSink", "Sinks", "sink.read", "Get a sink",
        "Returns its definition and its progress.",
        [Example("sink", "one", 200, SINK, sinkId="ledger")],
        errors=("404",), answers={"200": ("The sink.", {JSON: ref("Sink")}, ())}),
    Operation(
        "PUT", "/v1/sinks/{sinkId}", "putSink", "Sinks", "sink.write", "Create or change a sink",
        "A new sink starts at `from`; an existing one keeps its position. YAML is accepted, too.",
        [Example("make", "events as lines of a file", 201, SINK, sinkId="ledger",
                 body={"kind": "file"}),
         Example("change", "step events only", 200, {
             **SINK, "definition": {**SINK["definition"], "filter": {"entities": ["step"]}}},
             sinkId="ledger", body={"kind": "file", "filter": {"entities": ["step"]}})],
        body={JSON: ref("SinkDefinition")}, errors=("400", "422"),
        answers={"200": ("Changed.", {JSON: ref("Sink")}, ()), "201": ("Created.", {JSON: ref("Sink")}, ())}),
    Operation(
        "DELETE", "/v1/sinks/{sinkId}", "removeSink", "Sinks", "sink.write", "Remove a sink",
        "Also discards its position and its dead letters.",
        [Example("remove", "permanently", 204, sinkId="ledger")],
        errors=("404",), answers={"204": ("Removed.", {}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/pause", "pauseSink", "Sinks", "sink.operate", "Pause a sink",
        "Nothing is sent; it keeps its position, and retention keeps the events it has not sent.",
        [Example("pause", "temporarily", 200, {**SINK, "state": "PAUSED"}, sinkId="ledger")],
        errors=("404",), answers={"200": ("Paused.", {JSON: ref("Sink")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/resume", "resumeSink", "Sinks", "sink.operate", "Resume a sink",
        "For a sink that was paused, or disabled by a 410 response.",
        [Example("resume", "resume", 200, SINK, sinkId="ledger")],
        errors=("404",), answers={"200": ("Resumed.", {JSON: ref("Sink")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/outbox", "listPending", "Sinks", "sink.read",
        "List a sink's pending events", "Returns the first pending events, with the messages to be sent.",
        [Example("pending", "nothing at the moment", 200, {"events": []}, sinkId="ledger", limit=10)],
        query=PAGED[1:], errors=("400", "404"),
        answers={"200": ("The events.", {JSON: ref("PendingList")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/dead-letters", "listDeadLetters", "Sinks", "sink.read",
        "List dead letters", "Events that the sink could not deliver, sorted by run and sequence.",
        [Example("letters", "none", 200, {"deadLetters": []}, sinkId="ledger")],
        query=[query("runId", "only of this run", text()), query("eventType", "only of this type", text()),
               query("reason", "reason contains this text", text()), *PAGED], errors=("400", "404"),
        answers={"200": ("A page.", {JSON: ref("DeadLetterPage")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/dead-letters/{letterId}", "getDeadLetter", "Sinks", "sink.read",
        "Get a dead letter", "Includes the messages that a replay would send.",
        [Example("missing", "a letter that does not exist", 404, NOT_THERE, media="application/problem+json",
                 sinkId="ledger", letterId="order-7:3")],
        errors=("404",), answers={"200": ("The letter.", {JSON: ref("DeadLetter")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/dead-letters/replay", "replayDeadLetters", "Sinks", "sink.operate",
        "Replay dead letters",
        "Sends the selected dead letters again; an empty body selects all. If later events are held, a run's letters "
        "are sent together and in order. Returns before they are sent; only one replay can run at a time.",
        [Example("dry", "only count them", 200, {"deadLetters": 0, "dryRun": True}, sinkId="ledger",
                 body={"runId": "order-7", "dryRun": True}),
         Example("replay", "all, ten a second", 202, {"deadLetters": 0, "dryRun": False}, sinkId="ledger",
                 body={"perSecond": 10})],
        body={JSON: ref("LetterOrder"), "required": False}, errors=("400", "404", "422"),
        answers={"200": ("The number of selected letters.", {JSON: ref("LetterCount")}, ()),
                 "202": ("The number of letters to be sent.", {JSON: ref("LetterCount")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/dead-letters/purge", "purgeDeadLetters", "Sinks", "sink.operate",
        "Purge dead letters", "Deletes the selected dead letters; an empty body selects all.",
        [Example("purge", "of one run", 200, {"deadLetters": 0, "dryRun": False}, sinkId="ledger",
                 body={"runId": "order-7"})],
        body={JSON: ref("LetterOrder"), "required": False}, errors=("400", "404", "422"),
        answers={"200": ("The number of deleted letters.", {JSON: ref("LetterCount")}, ())}),
    Operation(
        "GET", "/v1/inbound/rules", "listInboundRules", "Inbound", "sink.read", "List rules",
        "Returns the rules for inbound events.",
        [Example("rules", "all of them", 200, {"rules": [
            {**RULE, "start": {**RULE["start"], "projectId": "default", "environmentId": "default"}}]})],
        answers={"200": ("The rules.", {JSON: ref("InboundRuleList")}, ())}),
    Operation(
        "PUT", "/v1/inbound/rules/{ruleId}", "putInboundRule", "Inbound", "sink.write",
        "Create or change a rule", "Applies to events received from now on.",
        [Example("make", "orders start runs", 201, {
            **RULE, "start": {**RULE["start"], "projectId": "default", "environmentId": "default"}},
            ruleId="orders", body=RULE)],
        body={JSON: ref("InboundRule")}, errors=("400", "422"),
        answers={"200": ("Changed.", {JSON: ref("InboundRule")}, ()),
                 "201": ("Created.", {JSON: ref("InboundRule")}, ())}),
    Operation(
        "DELETE", "/v1/inbound/rules/{ruleId}", "removeInboundRule", "Inbound", "sink.write",
        "Remove a rule", "Runs that it has started continue.",
        [Example("remove", "permanently", 204, ruleId="orders")],
        errors=("404",), answers={"204": ("Removed.", {}, ())}),
    Operation(
        "POST", "/v1/inbound", "receiveEvents", "Inbound", "hook.deliver", "Receive external events",
        "Accepts CloudEvents (binary, structured or a batch), or one JSON object with a `type`. The tenant's rules "
        "determine the effect. A repeated event, identified by `source` and `id`, has no further effect.",
        [Example("unmatched", "an event that matches no rule", 200, RECEIVED, body=EVENT, body_media=CLOUD)],
        body={CLOUD: anything("a CloudEvent 1.0 in JSON"), CLOUD_BATCH: anything("a list of them"),
              JSON: anything("an object with a type, or the data of a binary CloudEvent")},
        errors=("400", "422", "507"),
        answers={"200": ("The effects.", {JSON: ref("InboundAnswer")}, ())}),
    Operation(
        "POST", "/webhooks/{tenantId}", "receiveSignedEvents", "Inbound", None,
        "Receive signed external events",
        "The same for senders without a token, signed as specified by Standard Webhooks with a secret of the tenant.",
        [Example("forged", "an invalid signature", 401, {
            "type": "/docs/errors/WEBHOOK_SIGNATURE_INVALID",
            "title": "The webhook's signature is not valid", "status": 401,
            "code": "WEBHOOK_SIGNATURE_INVALID", "detail": "the signature is not valid",
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media="application/problem+json",
            tenantId="default", body={"type": "ping"},
            **{"webhook-id": "msg_1", "webhook-timestamp": "1770805800",
               "webhook-signature": "v1,AAAA"})],
        query=["WebhookId", "WebhookTimestamp", "WebhookSignature"],
        body={JSON: anything("any JSON"), "required": False}, errors=("400", "401", "422", "507"),
        answers={"200": ("The effects.", {JSON: ref("InboundAnswer")}, ())}),
]
PARAMETERS = {
    "sinkId": ("the sink", text()),
    "letterId": ("the run's id, a colon, and runSeq", text()),
    "ruleId": ("the rule", text()),
}
