"""Sinks, dead letters, and events that come in."""

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
        "The tenant's sinks; with `tenant.any` those of the server's settings too.",
        [Example("sinks", "all of them", 200, {"sinks": [SINK]})],
        answers={"200": ("The sinks.", {JSON: ref("SinkList")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}", "getSink", "Sinks", "sink.read", "Look at a sink",
        "How it is defined and how far it has come.",
        [Example("sink", "one", 200, SINK, sinkId="ledger")],
        errors=("404",), answers={"200": ("The sink.", {JSON: ref("Sink")}, ())}),
    Operation(
        "PUT", "/v1/sinks/{sinkId}", "putSink", "Sinks", "sink.write", "Make or change a sink",
        "A new one starts with `from`; one that is there goes on where it stands. YAML is taken too.",
        [Example("make", "events as lines of a file", 201, SINK, sinkId="ledger",
                 body={"kind": "file"}),
         Example("change", "step events only", 200, {
             **SINK, "definition": {**SINK["definition"], "filter": {"entities": ["step"]}}},
             sinkId="ledger", body={"kind": "file", "filter": {"entities": ["step"]}})],
        body={JSON: ref("SinkDefinition")}, errors=("400", "422"),
        answers={"200": ("Changed.", {JSON: ref("Sink")}, ()), "201": ("Made.", {JSON: ref("Sink")}, ())}),
    Operation(
        "DELETE", "/v1/sinks/{sinkId}", "removeSink", "Sinks", "sink.write", "Remove a sink",
        "Forgets its place and its dead letters.",
        [Example("remove", "for good", 204, sinkId="ledger")],
        errors=("404",), answers={"204": ("Removed.", {}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/pause", "pauseSink", "Sinks", "sink.operate", "Pause a sink",
        "Nothing is sent; it keeps its place, and retention keeps what it has not had.",
        [Example("pause", "for a while", 200, {**SINK, "state": "PAUSED"}, sinkId="ledger")],
        errors=("404",), answers={"200": ("Paused.", {JSON: ref("Sink")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/resume", "resumeSink", "Sinks", "sink.operate", "Go on with a sink",
        "One that was paused, or that 410 had disabled.",
        [Example("resume", "go on", 200, SINK, sinkId="ledger")],
        errors=("404",), answers={"200": ("It goes on.", {JSON: ref("Sink")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/outbox", "listPending", "Sinks", "sink.read",
        "List what a sink has not had yet", "The first of them, with what will be sent.",
        [Example("pending", "nothing at the moment", 200, {"events": []}, sinkId="ledger", limit=10)],
        query=PAGED[1:], errors=("400", "404"),
        answers={"200": ("The events.", {JSON: ref("PendingList")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/dead-letters", "listDeadLetters", "Sinks", "sink.read",
        "List dead letters", "Events that the sink did not take, by run and sequence.",
        [Example("letters", "none", 200, {"deadLetters": []}, sinkId="ledger")],
        query=[query("runId", "only of this run", text()), query("eventType", "only of this type", text()),
               query("reason", "has this in its reason", text()), *PAGED], errors=("400", "404"),
        answers={"200": ("A page.", {JSON: ref("DeadLetterPage")}, ())}),
    Operation(
        "GET", "/v1/sinks/{sinkId}/dead-letters/{letterId}", "getDeadLetter", "Sinks", "sink.read",
        "Look at a dead letter", "With the messages that a replay would send.",
        [Example("missing", "one that was delivered", 404, NOT_THERE, media="application/problem+json",
                 sinkId="ledger", letterId="order-7:3")],
        errors=("404",), answers={"200": ("The letter.", {JSON: ref("DeadLetter")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/dead-letters/replay", "replayDeadLetters", "Sinks", "sink.operate",
        "Send dead letters again",
        "Those that are chosen, all of them with an empty body. Where later events are held a run's letters go "
        "together, in order. Returns before they are sent; one replay at a time.",
        [Example("dry", "how many would it be", 200, {"deadLetters": 0, "dryRun": True}, sinkId="ledger",
                 body={"runId": "order-7", "dryRun": True}),
         Example("replay", "all, ten a second", 202, {"deadLetters": 0, "dryRun": False}, sinkId="ledger",
                 body={"perSecond": 10})],
        body={JSON: ref("LetterOrder"), "required": False}, errors=("400", "404", "422"),
        answers={"200": ("So many it would be.", {JSON: ref("LetterCount")}, ()),
                 "202": ("So many are sent.", {JSON: ref("LetterCount")}, ())}),
    Operation(
        "POST", "/v1/sinks/{sinkId}/dead-letters/purge", "purgeDeadLetters", "Sinks", "sink.operate",
        "Give dead letters up", "Those that are chosen, all of them with an empty body.",
        [Example("purge", "of one run", 200, {"deadLetters": 0, "dryRun": False}, sinkId="ledger",
                 body={"runId": "order-7"})],
        body={JSON: ref("LetterOrder"), "required": False}, errors=("400", "404", "422"),
        answers={"200": ("So many are gone.", {JSON: ref("LetterCount")}, ())}),
    Operation(
        "GET", "/v1/inbound/rules", "listInboundRules", "Inbound", "sink.read", "List rules",
        "What happens to events that come in.",
        [Example("rules", "all of them", 200, {"rules": [
            {**RULE, "start": {**RULE["start"], "projectId": "default", "environmentId": "default"}}]})],
        answers={"200": ("The rules.", {JSON: ref("InboundRuleList")}, ())}),
    Operation(
        "PUT", "/v1/inbound/rules/{ruleId}", "putInboundRule", "Inbound", "sink.write",
        "Make or change a rule", "It holds for events that come from now on.",
        [Example("make", "orders start runs", 201, {
            **RULE, "start": {**RULE["start"], "projectId": "default", "environmentId": "default"}},
            ruleId="orders", body=RULE)],
        body={JSON: ref("InboundRule")}, errors=("400", "422"),
        answers={"200": ("Changed.", {JSON: ref("InboundRule")}, ()),
                 "201": ("Made.", {JSON: ref("InboundRule")}, ())}),
    Operation(
        "DELETE", "/v1/inbound/rules/{ruleId}", "removeInboundRule", "Inbound", "sink.write",
        "Remove a rule", "What it has started goes on.",
        [Example("remove", "for good", 204, ruleId="orders")],
        errors=("404",), answers={"204": ("Removed.", {}, ())}),
    Operation(
        "POST", "/v1/inbound", "receiveEvents", "Inbound", "hook.deliver", "Bring events in",
        "CloudEvents (binary, structured or a batch), or one JSON object with a `type`. Rules say what follows. "
        "An event that comes again, by `source` and `id`, does nothing twice.",
        [Example("unmatched", "an event that no rule is for", 200, RECEIVED, body=EVENT, body_media=CLOUD)],
        body={CLOUD: anything("a CloudEvent 1.0 in JSON"), CLOUD_BATCH: anything("a list of them"),
              JSON: anything("an object with a type, or the data of a binary CloudEvent")},
        errors=("400", "422", "507"),
        answers={"200": ("What followed.", {JSON: ref("InboundAnswer")}, ())}),
    Operation(
        "POST", "/webhooks/{tenantId}", "receiveSignedEvents", "Inbound", None,
        "Bring events in with a signature",
        "The same for senders without a token, signed as Standard Webhooks says with a secret of the tenant.",
        [Example("forged", "a signature that is not valid", 401, {
            "type": "/docs/errors/WEBHOOK_SIGNATURE_INVALID",
            "title": "The webhook's signature is not valid", "status": 401,
            "code": "WEBHOOK_SIGNATURE_INVALID", "detail": "the signature is not valid",
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media="application/problem+json",
            tenantId="default", body={"type": "ping"},
            **{"webhook-id": "msg_1", "webhook-timestamp": "1770805800",
               "webhook-signature": "v1,AAAA"})],
        query=["WebhookId", "WebhookTimestamp", "WebhookSignature"],
        body={JSON: anything("any JSON"), "required": False}, errors=("400", "401", "422", "507"),
        answers={"200": ("What followed.", {JSON: ref("InboundAnswer")}, ())}),
]
PARAMETERS = {
    "sinkId": ("the sink", text()),
    "letterId": ("the run's id, a colon, and runSeq", text()),
    "ruleId": ("the rule", text()),
}
