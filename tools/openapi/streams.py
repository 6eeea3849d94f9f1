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


GONE = problem("NOT_FOUND", "There is nothing here", 404, "there is no such message that was given up")
OPERATIONS = [
    Operation(
        "GET", "/v1/runs/{runId}/streams", "listStreams", "Streams", "run.read", "List the streams of a run",
        "With how many chunks each has, and whether it is closed.",
        [Example("streams", "after a first chunk", 200,
                 {"streams": [{"name": "progress", "chunks": 1, "closed": True}]}, runId="greeting-1")],
        errors=("404", "410"), answers={"200": ("The streams.", {JSON: ref("StreamList")}, ())}),
    Operation(
        "GET", "/v1/runs/{runId}/streams/{stream}", "readStream", "Streams", "run.read",
        "Read or follow a stream",
        "Chunks from an index on. With `Accept: text/event-stream` the answer is a stream that goes on as chunks "
        "become durable: the index as `id`, the chunk in Base64 as `data`, and `event: end` after the last. A "
        "client that comes back sends `Last-Event-ID`. A stream that has not begun is empty.",
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
        "Append to a stream", "The body is one chunk, at most 4 MiB; an empty one is none. On return it is durable. "
        "With an Idempotency-Key a repetition appends nothing.",
        [Example("chunk", "one chunk, which is the last", 200, {"name": "progress", "chunks": 1, "closed": True},
                 body="hello", body_media=PLAIN, runId="greeting-1", stream="progress", close="true")],
        query=[query("close", "nothing follows it", flag())],
        body={BYTES: text("any bytes"), PLAIN: text("any text"), "required": False},
        errors=("404", "410", "507"),
        answers={"200": ("How long it is now.", {JSON: ref("Stream")}, ())}),
    Operation(
        "GET", "/v1/messages", "listMessages", "Messages", "queue.read", "List messages",
        "Those that wait to be delivered to applications, are being delivered, or were given up.",
        [Example("dead", "those that were given up", 200, {"messages": []}, dead="true", after=MESSAGE, limit=10)],
        query=[query("dead", "only those that were given up", flag()),
               query("after", "the message already seen", text(maxLength=1024)),
               query("limit", "messages in a page", whole(minimum=1, maximum=1000, default=100))],
        answers={"200": ("The messages, oldest first.", {JSON: ref("MessageList")}, ())}),
    Operation(
        "POST", "/v1/messages/{messageId}/replay", "replayMessage", "Messages", "queue.write",
        "Deliver a message again", "One that was given up starts over; it counts as its second attempt, since attempt 1 means that it was never delivered before.",
        [Example("unknown", "one that is not there", 404, GONE, media=PROBLEM, messageId=MESSAGE)],
        errors=("404",), answers={"200": ("It will be delivered.", {JSON: ref("Nothing")}, ())}),
    Operation(
        "DELETE", "/v1/messages/{messageId}", "removeMessage", "Messages", "queue.write", "Drop a message",
        "One that was given up goes for good.",
        [Example("unknown", "one that is not there", 404, GONE, media=PROBLEM, messageId=MESSAGE)],
        errors=("404",), answers={"200": ("It is gone.", {JSON: ref("Nothing")}, ())}),
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
