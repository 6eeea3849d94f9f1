"""Writes schemas/openapi.json: `python3 tools/openapi`. With --check it only reports whether the file is
up to date.

The descriptions of the API are in the files beside this one; the routes themselves are in
src/serve/routes.cc, and tests/e2e/openapi.sh compares the two.
"""

import json
import re
import sys
from pathlib import Path

import admin
import bus
import events
import plans
import runs
import streams
import work
from schemas import SCHEMAS
from shapes import ref, text

PARTS = (runs, events, streams, plans, work, bus, admin)
OPERATIONS = [operation for part in PARTS for operation in part.OPERATIONS]
PATH_PARAMETERS = {name: words for part in PARTS for name, words in part.PARAMETERS.items()}
PROBLEM = "application/problem+json"
OUTPUT = Path(__file__).resolve().parents[2] / "schemas" / "openapi.json"

TAGS = {
    "Runs": "Start, read and control runs.",
    "Signals": "Commands to runs, with recorded decisions.",
    "Events": "The log itself: append, read, follow.",
    "Streams": "Output of runs while they run, in chunks.",
    "Messages": "The queue that delivers messages to applications.",
    "Hooks": "Points where runs wait for external input.",
    "Plans": "Documents that define what runs do.",
    "Artifacts": "Content-addressed data that is too large for an event.",
    "Workers": "External processes that execute steps for which this server has no tool.",
    "Sinks": "Destinations of events, and events that could not be delivered.",
    "Inbound": "External events, and the rules that process them.",
    "Tokens": "API tokens.",
    "Server": "Health, metrics, alerts, audit.",
}

# Errors by status: the name of the shared response, its meaning, an example problem.
ERRORS = {
    "400": ("BadRequest", "The request is malformed, or its query has faults.",
            ("INVALID_ARGUMENT", "Invalid argument", "?limit: must be a whole number from 1 to 1000")),
    "401": ("Unauthenticated", "There is no valid token.",
            ("UNAUTHENTICATED", "A valid token is required", "the token has expired")),
    "403": ("Denied", "The token's roles do not allow this.",
            ("AUTHZ_DENIED", "The role does not allow this",
             "the token's roles do not allow run.start")),
    "404": ("NotFound", "It does not exist, or belongs to another tenant.",
            ("RUN_NOT_FOUND", "There is no such run", "There is no such run")),
    "409": ("Conflict", "The current state does not allow it, or a request with this Idempotency-Key is in progress.",
            ("RUN_TERMINAL", "The run has ended", "the run has ended")),
    "410": ("Gone", "It existed but was removed, or accepts nothing more.",
            ("RUN_EXPIRED", "The run was removed", "the run was removed")),
    "412": ("PreconditionFailed", "The log does not yet contain the requested event.",
            ("PRECONDITION_FAILED", "Precondition failed",
             "the log ends at 5, before consistentAfter")),
    "413": ("TooLarge", "The body, or an event in it, is too large.",
            ("CONTENT_TOO_LARGE", "The body is too large", "the body is too large")),
    "414": ("UriTooLong", "Path and query are longer than the setting `limits.target` allows.",
            ("URI_TOO_LONG", "URI Too Long", "the target of the request is too long")),
    "415": ("UnsupportedEncoding", "The body has an unsupported content encoding.",
            ("UNSUPPORTED_ENCODING", "Unsupported Media Type",
             "a body may be encoded with gzip only")),
    "417": ("ExpectationFailed", "The request has an `Expect` header other than 100-continue.",
            ("EXPECTATION_FAILED", "Expectation Failed", "only 100-continue is supported in Expect")),
    "422": ("Unprocessable", "The body is well-formed but invalid; `faults` has the places. Also: the "
            "Idempotency-Key was used for a different request.",
            ("SCHEMA_VALIDATION_FAILED", "The document does not match its schema",
             "missing or ambiguous plan")),
    "429": ("TooMany", "A limit is reached; retry after Retry-After.",
            ("ADMISSION_REJECTED", "A limit on starting runs is reached", "the queue is full")),
    "431": ("HeadersTooLarge", "The head of the request is longer than the setting `limits.head` allows, or has too "
            "many headers.",
            ("HEADERS_TOO_LARGE", "Request Header Fields Too Large", "the head of the request is too large")),
    "500": ("ArtifactDamaged", "The stored artifact is damaged or missing (ARTIFACT_DAMAGED): its bytes are not "
            "served.",
            ("ARTIFACT_DAMAGED", "The stored artifact is damaged or missing",
             "the artifact is known, but its stored bytes are damaged or missing")),
    "501": ("NotImplemented", "The method is unknown, or the body has a transfer coding other than chunked.",
            ("NOT_IMPLEMENTED", "Not Implemented", "unknown method")),
    "503": ("Unavailable", "Temporarily unavailable: overloaded, stopping, or the store has stopped. Retry "
            "after Retry-After.",
            ("ENGINE_STOPPED", "The engine is stopping", "The engine is stopping")),
    "505": ("VersionNotSupported", "The request is not HTTP/1.1 or HTTP/1.0.",
            ("HTTP_VERSION_NOT_SUPPORTED", "HTTP Version Not Supported", "this server supports HTTP/1.1")),
    "507": ("StoreFull", "The disk is nearly full (STORE_FULL), or the tenant's storage limit is reached "
            "(TENANT_FULL). Reads still work.",
            ("STORE_FULL", "The disk is nearly full", "The disk is nearly full")),
}

HEADERS = {
    "ETag": ("ETag", "for If-None-Match"),
    "LastEventSeq": ("Everstep-Last-Event-Seq", "the watermark: the last event of the run that this read has seen"),
    "Location": ("Location", "address of the resource"),
    "RetryAfter": ("Retry-After", "seconds"),
}


def header_parameter(name, description, schema=None, example=None):
    parameter = {"name": name, "in": "header", "description": description, "schema": schema or text()}
    if example:
        parameter["example"] = example
    return parameter


SHARED = {
    "IdempotencyKey": header_parameter(
        "Idempotency-Key",
        "The same key with the same request gets the same response for 24 hours, with another request 422, "
        "and while the first is in progress 409.",
        text(minLength=1, maxLength=255), "5b1f3a52-6f0e-4a5c-9d51-0c1f5f0d2a77"),
    "TraceParent": header_parameter(
        "traceparent", "W3C trace context; stored, with `tracestate`, for the run that the call starts.", text(),
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
}
# Parameters shared by several operations, each of which has its own examples.
COMMON = {
    "Cursor": {"name": "cursor", "in": "query", "description": "cursor returned by the previous page",
               "schema": text(maxLength=1024)},
    "IfNoneMatch": header_parameter("If-None-Match", "the ETag the client has; 304 if it still matches"),
    "LastEventId": header_parameter("Last-Event-ID", "the last id the client received before its stream broke off"),
    "WebhookId": {**header_parameter("webhook-id", "the sender's id for the delivery"), "required": True},
    "WebhookTimestamp": {**header_parameter("webhook-timestamp", "seconds since 1970"), "required": True},
    "WebhookSignature": {**header_parameter("webhook-signature", "`v1,` followed by the HMAC in Base64"),
                         "required": True},
}


def with_examples(parameter, operation):
    name = parameter["name"]
    examples = {example.name: {"summary": example.summary, "value": example.parameters[name]}
                for example in operation.examples if name in example.parameters}
    parameter = {key: value for key, value in parameter.items() if value != ""}
    return {**parameter, "examples": examples} if examples else parameter


def parameters_of(operation):
    parameters = []
    for name in re.findall(r"{(\w+)}", operation.path):
        description, schema = PATH_PARAMETERS[name]
        parameters.append({"name": name, "in": "path", "required": True, "description": description,
                           "schema": schema})
    parameters += [COMMON[entry] if isinstance(entry, str) else entry for entry in operation.query]
    parameters = [with_examples(parameter, operation) for parameter in parameters]
    if operation.method == "POST":
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    return parameters + [{"$ref": "#/components/parameters/TraceParent"}]


def content_of(schemas, examples, media_of, value_of):
    content = {}
    for media, schema in schemas.items():
        content[media] = {"schema": schema}
        found = {example.name: {"summary": example.summary, "value": value_of(example)}
                 for example in examples if media_of(example) == media and value_of(example) is not None}
        if found:
            content[media]["examples"] = found
    return content


def body_of(operation):
    schemas = {media: schema for media, schema in operation.body.items() if media != "required"}
    return {"required": operation.body.get("required", True),
            "content": content_of(schemas, operation.examples, lambda example: example.body_media,
                                  lambda example: example.body)}


def answers_of(operation):
    # Every request is read in the same way, with or without a body that the operation expects.
    errors = {"400", "413", "414", "415", "417", "431", "501", "503", "505", *operation.errors}
    if operation.permission:
        errors |= {"401", "403"}
    if operation.method == "POST":
        errors |= {"409", "422"}
    if operation.method == "PUT":
        errors |= {"422"}
    answers = {}
    for status, (description, schemas, headers) in operation.answers.items():
        examples = [example for example in operation.examples if example.status == status]
        answer = {"description": description}
        if headers:
            answer["headers"] = {HEADERS[name][0]: {"$ref": f"#/components/headers/{name}"}
                                 for name in headers}
        if schemas:
            answer["content"] = content_of(schemas, examples, lambda example: example.media,
                                           lambda example: example.answer)
        elif examples:
            answer["x-examples"] = [example.name for example in examples]  # responses without a body
        answers[status] = answer
    for status in errors - answers.keys():
        examples = [example for example in operation.examples if example.status == status]
        name = ERRORS[status][0]
        answers[status] = {"$ref": f"#/components/responses/{name}"} if not examples else {
            "description": ERRORS[status][1],
            "content": content_of({PROBLEM: ref("Problem")}, examples, lambda example: example.media,
                                  lambda example: example.answer)}
    return dict(sorted(answers.items()))


def described(operation):
    needs = f"Needs `{operation.permission}`." if operation.permission else "Open to everybody."
    return f"{operation.description} {needs}"


def operation_object(operation):
    made = {"operationId": operation.name, "tags": [operation.tag], "summary": operation.summary,
            "description": described(operation)}
    if operation.permission:
        made["x-permission"] = operation.permission
    else:
        made["security"] = []
    made["parameters"] = parameters_of(operation)
    if operation.body:
        made["requestBody"] = body_of(operation)
    made["responses"] = answers_of(operation)
    return made


def shared_answers():
    answers = {}
    for status, (name, description, (code, title, detail)) in ERRORS.items():
        answer = {"description": description}
        if status in ("429", "503", "507"):
            answer["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
        answer["content"] = {PROBLEM: {"schema": ref("Problem"), "example": {
            "type": f"/docs/errors/{code}", "title": title, "status": int(status), "code": code,
            "detail": detail, "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}}}
        answers[name] = answer
    return answers


def document():
    paths = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = operation_object(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Everstep", "version": "1",
            "summary": "A durable workflow engine",
            "description": "JSON over HTTP/1.1. Errors are problem documents (RFC 9457) with stable codes. Members "
                           "that are empty, zero or false are omitted from responses unless they are required. "
                           "Requests are parsed strictly: unknown members are faults. Every GET also accepts HEAD. "
                           "See docs/api.md for how to use it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:7377", "description": "the default address of `everstep serve`"}],
        "security": [{"bearer": []}],
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer",
                "description": "A token, `est_<id>_<secret>` (docs/security.md). It identifies the tenant."}},
            "parameters": SHARED,
            "headers": {name: {"description": description, "schema": text()}
                        for name, (_, description) in HEADERS.items()},
            "responses": shared_answers(),
            "schemas": SCHEMAS,
        },
    }


def main():
    written = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    if sys.argv[1:] == ["--check"]:
        same = OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == written
        sys.exit(0 if same else "schemas/openapi.json is not up to date; run python3 tools/openapi")
    OUTPUT.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
