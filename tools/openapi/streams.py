"""Streams of runs, messages of the queue, and the calls of Workflow DevKit applications."""

from runs import AT, JSON
from shapes import Example, Operation, flag, query, ref, text, whole

STREAM = "text/event-stream"
BYTES = "application/octet-stream"
PLAIN = "text/plain"
CBOR = "application/cbor"
PROBLEM = "application/problem+json"
MESSAGE = "msg_01HXYZ123ABC456DEF789GHJKM"
FRAME = "id: 0\nevent: chunk\ndata: aGVsbG8=\n\nevent: end\ndata:\n\n"


def problem(code, title, status, detail):
    return {"type": f"/docs/errors/{code}", "title": title, "status": status, "code": code, "detail": detail,
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}


GONE = problem("NOT_FOUND", "Not found", 404, "there is no such dead message")
OPERATIONS = [
    Operation(
        "GET", "/v1/runs/{runId}/streams", "listStreams", "Streams", "run.read", "List the streams of a run",
        "Returns the number of chunks of each, and whether it is closed.",
        [Example("streams", "after a first chunk", 200,
                 {"streams": [{"name": "progress", "chunks": 1, "closed": True}]}, runId="greeting-1",
                 after="output", limit=10)],
        query=[query("after", "the name of the last stream already received", text(maxLength=512)),
               query("limit", "streams in a page", whole(minimum=1, maximum=1000, default=1000))],
        errors=("404", "410"), answers={"200": ("The streams.", {JSON: ref("StreamList")}, ())}),
    Operation(
        "GET", "/v1/runs/{runId}/streams/{stream}", "readStream", "Streams", "run.read",
        "Read or follow a stream",
        "Returns chunks from an index on. With `Accept: text/event-stream` the response is a stream that continues as "
        "chunks become durable: `id` is the index, `data` the chunk in Base64, and `event: end` follows the last one. "
        "A reconnecting client sends `Last-Event-ID`. A stream that was never written is empty.",
        [Example("page", "from the beginning", 200,
                 {"chunks": [{"index": 0, "data": "aGVsbG8="}], "count": 1, "closed": True},
                 runId="greeting-1", stream="progress", startIndex=0, limit=10),
         Example("stream", "all of it", 200, FRAME, media=STREAM, runId="greeting-1", stream="progress")],
        query=[query("startIndex", "the first chunk wanted; negative: counted from the end",
                     whole(default=0)),
               query("limit", "chunks in a page", whole(minimum=1, maximum=1000, default=100)),
               "LastEventId"],
        errors=("404", "410"),
        answers={"200": ("A page, or a stream.", {JSON: ref("ChunkPage"), STREAM: text()}, ())}),
    Operation(
        "POST", "/v1/runs/{runId}/streams/{stream}", "writeStream", "Streams", "event.append",
        "Append to a stream", "The body is one chunk of at most 4 MiB; an empty body appends none. The chunk is "
        "durable on return. Repeating an Idempotency-Key appends nothing.",
        [Example("chunk", "one chunk that closes the stream", 200, {"name": "progress", "chunks": 1, "closed": True},
                 body="hello", body_media=PLAIN, runId="greeting-1", stream="progress", close="true")],
        query=[query("close", "close the stream after this chunk", flag())],
        body={BYTES: text("any bytes"), PLAIN: text("any text"), "required": False},
        errors=("404", "410", "507"),
        answers={"200": ("The stream's new length.", {JSON: ref("Stream")}, ())}),
    Operation(
        "GET", "/v1/messages", "listMessages", "Messages", "queue.read", "List messages",
        "Messages that wait to be delivered to applications, are being delivered, or are dead.",
        [Example("dead", "dead messages", 200, {"messages": []}, dead="true", after=MESSAGE, limit=10)],
        query=[query("dead", "only dead messages", flag()),
               query("after", "the last message already received", text(maxLength=1024)),
               query("limit", "messages in a page", whole(minimum=1, maximum=1000, default=100))],
        answers={"200": ("The messages, the oldest first.", {JSON: ref("MessageList")}, ())}),
    Operation(
        "POST", "/v1/messages/{messageId}/replay", "replayMessage", "Messages", "queue.write",
        "Deliver a message again", "Restarts the delivery of a dead message. It counts as the second attempt, since "
        "attempt 1 means that the message was never delivered before.",
        [Example("unknown", "an unknown message", 404, GONE, media=PROBLEM, messageId=MESSAGE)],
        errors=("404",), answers={"200": ("It will be delivered.", {JSON: ref("Nothing")}, ())}),
    Operation(
        "DELETE", "/v1/messages/{messageId}", "removeMessage", "Messages", "queue.write", "Drop a message",
        "Removes a dead message permanently.",
        [Example("unknown", "an unknown message", 404, GONE, media=PROBLEM, messageId=MESSAGE)],
        errors=("404",), answers={"200": ("It was removed.", {JSON: ref("Nothing")}, ())}),
    Operation(
        "POST", "/v1/devkit", "callWorld", "Messages", "run.read", "Calls of a Workflow DevKit application",
        "A batch of calls and a batch of answers, both CBOR; made by the package `@everstep/world`. "
        "docs/devkit.md describes them. What changes something needs `event.append`.",
        [Example("unreadable", "something else", 400,
                 problem("INVALID_ARGUMENT", "An argument is wrong", 400,
                         "invalid CBOR: unexpected end of input"), media=PROBLEM, body="hello",
                 body_media=CBOR)],
        body={CBOR: text("a map with `spec` and `calls`")},
        answers={"200": ("An answer for each call.", {CBOR: text("a list")}, ())}),
]
PARAMETERS = {
    "stream": ("the stream's name", text(minLength=1, maxLength=512)),
    "messageId": ("the message", text()),
}
