"""Events and hooks: appending, reading, following, delivering."""

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
DIALECT = query("dialect", "the dialect of the events", words(DIALECTS))
TYPE = query("type", "only events of this native name", text(maxLength=1024))
LIMIT = query("limit", "stored events in a page", whole(minimum=1, maximum=10000, default=1000))
FOLLOW = ("With `Accept: text/event-stream` the response is a stream of server-sent events that continues as events "
          "become durable: `event` is the native name, `data` the JSON. `id` is a position; of events that were "
          "read together only the last one has it. A reconnecting client sends it as `Last-Event-ID`, which "
          "takes precedence over `after`; it may receive some events twice, identified by `runId` and `runSeq`. ")


def appended(sequence):
    return {"runId": "imported-1", "eventId": f"6f0e{sequence}", "runSeq": sequence, "persistedAt": AT}


def signed(message, at, body):
    """The headers required by Standard Webhooks."""
    text_signed = f"{message}.{at}.{json.dumps(body)}".encode()
    digest = hmac.digest(base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_")), text_signed, hashlib.sha256)
    return {"webhook-id": message, "webhook-timestamp": at,
            "webhook-signature": "v1," + base64.b64encode(digest).decode()}


def scope(name):
    return query(name, "for a new run whose first event does not contain it", text(maxLength=1024))


OPERATIONS = [
    Operation(
        "GET", "/v1/runs/{runId}/events", "listRunEvents", "Events", "event.read",
        "Read or follow the events of a run", FOLLOW + "A run's stream ends with the run.",
        [Example("page", "the first event", 200, PAGE, runId="greeting-1", limit=1),
         Example("contract", "events of a step, in another dialect", 200, {"events": [], "nextAfter": 0},
                 runId="greeting-1", dialect="contract", entityKind="step", entityId="greet", after=0,
                 until=100, type="StepCompleted"),
         Example("stream", "from the first to the last", 200, FRAME, media=STREAM, runId="greeting-1")],
        query=[DIALECT, query("after", "the last runSeq already received", whole(minimum=0, default=0)),
               query("until", "the last runSeq wanted; not for streams", whole(minimum=1)), TYPE,
               query("entityKind", "`step`, `hook`, …; together with `entityId`; not for streams",
                     text(maxLength=1024)),
               query("entityId", "", text(maxLength=1024)), LIMIT, "LastEventId"],
        errors=("404", "410"),
        answers={"200": ("A page, or a stream.", {JSON: ref("EventPage"), STREAM: text()}, ("LastEventSeq",)),
                 "204": ("The stream of an ended run whose last event the client has already received: do not "
                         "reconnect.", {}, ())}),
    Operation(
        "GET", "/v1/events", "listEvents", "Events", "event.read",
        "Read or follow the events of all runs", "In commit order. " + FOLLOW +
        "Without `after` and `since` a stream starts at the current end; its first block is an `id` without an event. "
        "Positions here are those of the whole store and have gaps.",
        [Example("page", "from the beginning", 200, PAGE, after=0, limit=10),
         Example("since", "from a point in time", 200, {"events": [], "nextAfter": 0},
                 since="2026-02-11T10:30:00Z", type="RunCompleted", dialect="cloudevents"),
         Example("stream", "follow all runs", 200, FRAME, media=STREAM, after=0)],
        query=[DIALECT, query("after", "the last position already received", whole(minimum=0)),
               query("since", "persisted at or after; instead of `after`", time()), TYPE,
               query("planId", "only of runs of this plan", text(maxLength=1024)),
               query("projectId", "likewise", text(maxLength=1024)),
               query("environmentId", "likewise", text(maxLength=1024)), LIMIT,
               "LastEventId"],
        answers={"200": ("A page, or a stream.", {JSON: ref("EventPage"), STREAM: text()}, ())}),
    Operation(
        "POST", "/v1/events", "appendEvents", "Events", "event.append", "Append events",
        "Accepts one event, a list, or lines; at most 10,000 events. They are durable on return. One event gets a "
        "response of its own; several get a list with one result each, and a refused event does not affect the "
        "others. The tenant is the caller's.",
        [Example("one", "one event", 201, appended(1), body=STARTED),
         Example("list", "several at once", 200,
                 {"results": [{"appended": appended(2)},
                              {"code": "SCHEMA_VALIDATION_FAILED", "detail": "the event has 1 fault",
                               "faults": [{"pointer": "/stepId", "message": "is required"}]}]},
                 body=[STEP, {"eventType": "StepStarted", "runId": "imported-1"}]),
         Example("lines", "one per line", 200, {"results": [{"appended": appended(3)}]},
                 body='{"eventType":"StepCompleted","runId":"imported-1","stepId":"extract",'
                      '"logicalAttemptId":1,"payload":{"result":{"rows":12}}}\n', body_media=LINES),
         Example("scope", "with the scope of a new run", 201,
                 {"runId": "imported-2", "eventId": "6f0e9", "runSeq": 1, "persistedAt": AT},
                 body={"eventType": "RunStarted", "runId": "imported-2", "payload": {"status": "RUNNING"}},
                 dialect="native", projectId="shop", environmentId="staging", planId="load",
                 planVersion="3")],
        query=[query("dialect", "the dialect of the events; CloudEvents can only be read",
                     words(DIALECTS.replace(" cloudevents", ""))),
               scope("projectId"), scope("environmentId"), scope("planId"), scope("planVersion")],
        body={JSON: {"oneOf": [ref("Event"), many(ref("Event"), minItems=1, maxItems=10000)]},
              LINES: text()},
        errors=("404", "410", "507"),
        answers={"200": ("Results for several events, or one event that already existed.",
                         {JSON: {"oneOf": [ref("AppendAnswers"), ref("Appended")]}}, ()),
                 "201": ("One new event.", {JSON: ref("Appended")}, ())}),
    Operation(
        "POST", "/v1/hooks/{token}", "deliverHook", "Hooks", "hook.deliver", "Deliver to a hook",
        "The body, any JSON, becomes the result of the waiting step. An approval accepts `{\"approved\": true}` "
        "or `false` with an optional `comment`; anything else gets 422, and the step keeps waiting.",
        [Example("approve", "grant an approval", 200, {"token": "approve-2.4", "runId": "release-2.4"},
                 token="approve-2.4", body={"approved": True, "comment": "looks good"})],
        body={JSON: anything("any JSON"), "required": False}, errors=("404", "410"),
        answers={"200": ("The delivery is durable.", {JSON: ref("Hook")}, ())}),
    Operation(
        "POST", "/v1/hooks/{token}/fail", "failHook", "Hooks", "hook.deliver", "Fail a hook",
        "The attempt of the waiting step fails with this error, and the retry policy of the step applies. The next "
        "attempt waits for a new token, unless the plan chose the token.",
        [Example("fail", "the printer is out of paper", 200, {"token": "label-7", "runId": "order-7"},
                 token="label-7", body={"code": "NO_PAPER", "message": "tray 2 is empty"})],
        body={JSON: ref("HookFailure")}, errors=("404", "410"),
        answers={"200": ("The failure is durable.", {JSON: ref("Hook")}, ())}),
    Operation(
        "POST", "/v1/hooks/{token}/heartbeat", "heartbeatHook", "Hooks", "hook.deliver",
        "Send a heartbeat to a hook",
        "Says that an answer will follow. A step with a `heartbeatTimeout` fails with TIMEOUT if it gets neither an "
        "answer nor a heartbeat in time. Heartbeats are not recorded.",
        [Example("alive", "still printing", 200, {"token": "label-7", "runId": "order-7"}, token="label-7")],
        errors=("404", "410"), answers={"200": ("The step keeps waiting.", {JSON: ref("Hook")}, ())}),
    Operation(
        "GET", "/v1/hooks/{token}", "getHook", "Hooks", "hook.read", "Get a hook",
        "Returns the waiting run and step, for example for an approval page.",
        [Example("waiting", "a waiting hook", 200, {
            "token": "approve-2.4", "runId": "release-2.4", "hookId": "sign-off", "stepId": "sign-off",
            "planId": "release", "status": "RUNNING", "kind": "approval", "prompt": "Publish 2.4?",
            "createdAt": AT, "until": "2026-02-12T10:30:00.000Z"},
            token="approve-2.4")],
        errors=("404", "410"), answers={"200": ("The hook.", {JSON: ref("Hook")}, ())}),
    Operation(
        "POST", "/webhooks/{tenantId}/{token}", "receiveWebhook", "Hooks", None,
        "Deliver to a hook with a signature",
        "For senders without a token. The delivery is signed as specified by Standard Webhooks, with a secret of the "
        "tenant: the HMAC-SHA256 of `id.timestamp.body`. A repeated id is answered but has no effect. The example is "
        f"signed with the secret `{WEBHOOK_SECRET}`.",
        [Example("signed", "a signed delivery", 200, {"token": "paid-7", "runId": "order-7"},
                 tenantId="default", token="paid-7", body={"amount": 12},
                 **signed("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", "1770805800", {"amount": 12})),
         Example("forged", "an invalid signature", 401, {
             "type": "/docs/errors/WEBHOOK_SIGNATURE_INVALID",
             "title": "The webhook's signature is not valid", "status": 401,
             "code": "WEBHOOK_SIGNATURE_INVALID", "detail": "the signature is not valid",
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media="application/problem+json",
             tenantId="default", token="paid-7", body={"amount": 12},
             **{"webhook-id": "msg_1", "webhook-timestamp": "1770805800",
                "webhook-signature": "v1,AAAA"})],
        query=["WebhookId", "WebhookTimestamp", "WebhookSignature"],
        body={JSON: anything("any JSON"), "required": False}, errors=("401", "404", "410"),
        answers={"200": ("Delivered; an empty object if this id was received before.",
                         {JSON: {"anyOf": [ref("Hook"), ref("Nothing")]}}, ())}),
]
PARAMETERS = {
    "token": ("the hook's token", text()),
    "tenantId": ("the tenant that owns the hook", text()),
}
