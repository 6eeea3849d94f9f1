"""Events and hooks: append, read, follow, deliver."""

import base64
import hashlib
import hmac
import json

from runs import AT, JSON
from shapes import Example, Operation, anything, many, query, ref, text, time, whole, words

DIALECTS = "native contract devkit noetl elephant cloudevents"
STREAM = "text/event-stream"
LINES = "application/x-ndjson"
STARTED = {"eventType": "RunStarted", "runId": "imported-1", "planId": "load", "planVersion": "3",
           "emittedAt": "2026-02-11T10:30:00Z", "payload": {"status": "RUNNING"}}
STEP = {"eventType": "StepStarted", "runId": "imported-1", "stepId": "extract", "logicalAttemptId": 1}
FRAME = ('retry: 1000\n\nid: 1\nevent: RunQueued\ndata: {"eventType":"RunQueued","runId":"greeting-1",'
         '"runSeq":1}\n\n')
PAGE = {"events": [{"runSeq": 1, "type": "RunQueued", "event": {"eventType": "RunQueued",
                                                                "runId": "greeting-1", "runSeq": 1}}],
        "nextAfter": 1, "more": True}
WEBHOOK_SECRET = "whsec_YW4gZXhhbXBsZSwgbm90IGEgc2VjcmV0"
DIALECT = query("dialect", "the vocabulary", words(DIALECTS))
TYPE = query("type", "only events of this native name", text(maxLength=1024))
LIMIT = query("limit", "stored events in a page", whole(minimum=1, maximum=10000, default=1000))
FOLLOW = ("With `Accept: text/event-stream` the answer is a stream (server-sent events) that goes on as events "
          "become durable: the native name as `event`, the JSON as `data`. `id` is a place; of events that were "
          "read together the last one has it. A client that comes back sends it as `Last-Event-ID`, which "
          "counts before `after`; it may see some events twice, known by `runId` and `runSeq`. ")


def appended(sequence):
    return {"runId": "imported-1", "eventId": f"6f0e{sequence}", "runSeq": sequence, "persistedAt": AT}


def signed(message, at, body):
    """The headers that Standard Webhooks asks for."""
    text_signed = f"{message}.{at}.{json.dumps(body)}".encode()
    digest = hmac.digest(base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_")), text_signed, hashlib.sha256)
    return {"webhook-id": message, "webhook-timestamp": at,
            "webhook-signature": "v1," + base64.b64encode(digest).decode()}


def scope(name):
    return query(name, "of a new run whose first event does not say it", text(maxLength=1024))


OPERATIONS = [
    Operation(
        "GET", "/v1/runs/{runId}/events", "listRunEvents", "Events", "event.read",
        "Read or follow the events of a run", FOLLOW + "The stream of a run ends with the run.",
        [Example("page", "the first event", 200, PAGE, runId="greeting-1", limit=1),
         Example("contract", "those of a step, in another dialect", 200, {"events": [], "nextAfter": 0},
                 runId="greeting-1", dialect="contract", entityKind="step", entityId="greet", after=0,
                 until=100, type="StepCompleted"),
         Example("stream", "from the first to the last", 200, FRAME, media=STREAM, runId="greeting-1")],
        query=[DIALECT, query("after", "the runSeq already seen", whole(minimum=0, default=0)),
               query("until", "the last runSeq wanted; not for streams", whole(minimum=1)), TYPE,
               query("entityKind", "`step`, `hook` …, with `entityId`; not for streams",
                     text(maxLength=1024)),
               query("entityId", "", text(maxLength=1024)), LIMIT, "LastEventId"],
        errors=("404", "410"),
        answers={"200": ("A page, or a stream.", {JSON: ref("EventPage"), STREAM: text()}, ("LastEventSeq",)),
                 "204": ("A stream of a run that has ended, whose last event the client has: do not come "
                         "again.", {}, ())}),
    Operation(
        "GET", "/v1/events", "listEvents", "Events", "event.read",
        "Read or follow the events of all runs", "In the order in which they became durable. " + FOLLOW +
        "Without `after` and `since` a stream begins now; its first block is an `id` without an event. Places "
        "here are those of the whole store, with gaps.",
        [Example("page", "from the beginning", 200, PAGE, after=0, limit=10),
         Example("since", "from a time on", 200, {"events": [], "nextAfter": 0},
                 since="2026-02-11T10:30:00Z", type="RunCompleted", dialect="cloudevents"),
         Example("stream", "follow all runs", 200, FRAME, media=STREAM, after=0)],
        query=[DIALECT, query("after", "the place already seen", whole(minimum=0)),
               query("since", "persisted at or after; instead of `after`", time()), TYPE,
               query("planId", "only of runs of this plan", text(maxLength=1024)),
               query("projectId", "likewise", text(maxLength=1024)),
               query("environmentId", "likewise", text(maxLength=1024)), LIMIT,
               "LastEventId"],
        answers={"200": ("A page, or a stream.", {JSON: ref("EventPage"), STREAM: text()}, ())}),
    Operation(
        "POST", "/v1/events", "appendEvents", "Events", "event.append", "Append events",
        "One event, a list, or lines; at most 10,000. On return they are durable. One event is answered by "
        "itself; several by a list that has an answer for each, where one that is refused does not hold up "
        "the others. The tenant is the caller's.",
        [Example("one", "one event", 201, appended(1), body=STARTED),
         Example("list", "several at once", 200,
                 {"results": [{"appended": appended(2)},
                              {"code": "SCHEMA_VALIDATION_FAILED", "detail": "the event has 1 fault",
                               "faults": [{"pointer": "/stepId", "message": "is required"}]}]},
                 body=[STEP, {"eventType": "StepStarted", "runId": "imported-1"}]),
         Example("lines", "one on each line", 200, {"results": [{"appended": appended(3)}]},
                 body='{"eventType":"StepCompleted","runId":"imported-1","stepId":"extract",'
                      '"logicalAttemptId":1,"payload":{"result":{"rows":12}}}\n', body_media=LINES),
         Example("scope", "with the scope of a new run", 201,
                 {"runId": "imported-2", "eventId": "6f0e9", "runSeq": 1, "persistedAt": AT},
                 body={"eventType": "RunStarted", "runId": "imported-2", "payload": {"status": "RUNNING"}},
                 dialect="native", projectId="shop", environmentId="staging", planId="load",
                 planVersion="3")],
        query=[query("dialect", "the vocabulary of the events; CloudEvents can only be read",
                     words(DIALECTS.replace(" cloudevents", ""))),
               scope("projectId"), scope("environmentId"), scope("planId"), scope("planVersion")],
        body={JSON: {"oneOf": [ref("Event"), many(ref("Event"), minItems=1, maxItems=10000)]},
              LINES: text()},
        errors=("404", "410", "507"),
        answers={"200": ("The answers to several, or one that was there before.",
                         {JSON: {"oneOf": [ref("AppendAnswers"), ref("Appended")]}}, ()),
                 "201": ("One event, durable.", {JSON: ref("Appended")}, ())}),
    Operation(
        "POST", "/v1/hooks/{token}", "deliverHook", "Hooks", "hook.deliver", "Deliver to a hook",
        "The body, any JSON, becomes the result of the step that waits. An approval takes "
        "`{\"approved\": true}` or `false`, with a `comment` if wished; anything else is 422, and it waits on.",
        [Example("approve", "say yes", 200, {"token": "approve-2.4", "runId": "release-2.4"},
                 token="approve-2.4", body={"approved": True, "comment": "looks good"})],
        body={JSON: anything("any JSON"), "required": False}, errors=("404", "410"),
        answers={"200": ("Delivered, durably.", {JSON: ref("Hook")}, ())}),
    Operation(
        "GET", "/v1/hooks/{token}", "getHook", "Hooks", "hook.read", "Look at a hook",
        "Which run and step wait: what an approval page shows.",
        [Example("waiting", "one that waits", 200, {
            "token": "approve-2.4", "runId": "release-2.4", "hookId": "sign-off", "stepId": "sign-off",
            "planId": "release", "status": "RUNNING", "kind": "approval", "prompt": "Publish 2.4?",
            "createdAt": AT, "until": "2026-02-12T10:30:00.000Z"},
            token="approve-2.4")],
        errors=("404", "410"), answers={"200": ("The hook.", {JSON: ref("Hook")}, ())}),
    Operation(
        "POST", "/webhooks/{tenantId}/{token}", "receiveWebhook", "Hooks", None,
        "Deliver to a hook with a signature",
        "For senders without a token: signed as Standard Webhooks says, with a secret of the tenant: the HMAC-SHA256 "
        "of `id.timestamp.body`. An id that has come before is answered and does nothing. The example is signed "
        f"with the secret `{WEBHOOK_SECRET}`.",
        [Example("signed", "a signed delivery", 200, {"token": "paid-7", "runId": "order-7"},
                 tenantId="default", token="paid-7", body={"amount": 12},
                 **signed("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", "1770805800", {"amount": 12})),
         Example("forged", "a signature that is not valid", 401, {
             "type": "/docs/errors/WEBHOOK_SIGNATURE_INVALID",
             "title": "The webhook's signature is not valid", "status": 401,
             "code": "WEBHOOK_SIGNATURE_INVALID", "detail": "the signature is not valid",
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media="application/problem+json",
             tenantId="default", token="paid-7", body={"amount": 12},
             **{"webhook-id": "msg_1", "webhook-timestamp": "1770805800",
                "webhook-signature": "v1,AAAA"})],
        query=["WebhookId", "WebhookTimestamp", "WebhookSignature"],
        body={JSON: anything("any JSON"), "required": False}, errors=("401", "404", "410"),
        answers={"200": ("Delivered; an empty object if this id had come before.",
                         {JSON: {"anyOf": [ref("Hook"), ref("Nothing")]}}, ())}),
]
PARAMETERS = {
    "token": ("of the hook", text()),
    "tenantId": ("whose hook it is", text()),
}
