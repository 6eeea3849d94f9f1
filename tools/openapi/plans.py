"""Plans and artifacts."""

from hashlib import sha256

from runs import AT, GREETING, JSON
from shapes import Example, Operation, query, ref, text, whole, words

YAML = "application/yaml"
BYTES = "application/octet-stream"
PLAIN = "text/plain"
DIGEST = sha256(GREETING.encode()).hexdigest()
NOTE = "shipped 12 parcels\n"
NOTE_DIGEST = sha256(NOTE.encode()).hexdigest()
REGISTERED = {"planId": "greeting", "planVersion": "1.0", "sha256": DIGEST, "registeredAt": AT,
              "registeredBy": "admin"}
DOCUMENT = {YAML: text("the document", minLength=1), JSON: {"type": "object"}}
PAGED = ["Cursor", query("limit", "", whole(minimum=1, maximum=1000, default=100))]
GRAPH = 'flowchart LR\n  s0["greet<br/><small>echo</small>"]\n'


def plan(**more):
    return {"planId": "greeting", "version": "1.0", **more}


OPERATIONS = [
    Operation(
        "POST", "/v1/plans", "registerPlan", "Plans", "plan.write", "Register a plan",
        "The body is the document, YAML or JSON (docs/plans.md). A version always refers to the same document: "
        "different content for an existing version is refused with PLAN_VERSION_TAKEN.",
        [Example("register", "a plan in YAML", 201, REGISTERED, body=GREETING, body_media=YAML),
         Example("again", "the same plan again", 200, REGISTERED, body=GREETING, body_media=YAML)],
        body=DOCUMENT, errors=("507",),
        answers={"200": ("It was already registered.", {JSON: ref("RegisteredPlan")}, ("Location",)),
                 "201": ("Registered.", {JSON: ref("RegisteredPlan")}, ("Location",))}),
    Operation(
        "GET", "/v1/plans", "listPlans", "Plans", "plan.read", "List plans", "Sorted by id and version.",
        [Example("first", "the first page", 200, {"plans": [REGISTERED]}, limit=10)],
        query=PAGED, answers={"200": ("A page.", {JSON: ref("PlanList")}, ())}),
    Operation(
        "POST", "/v1/plans/check", "checkPlan", "Plans", "plan.read", "Check a plan",
        "Reports all faults at once, with line, column and JSON pointer. Stores nothing.",
        [Example("good", "a valid plan", 200,
                 {"planId": "greeting", "planVersion": "1.0", "sha256": DIGEST, "steps": 1,
                  "warnings": []}, body=GREETING, body_media=YAML),
         Example("bad", "a plan with a fault", 422, {
             "type": "/docs/errors/INVALID_PLAN", "title": "Invalid plan", "status": 422,
             "code": "INVALID_PLAN", "detail": "the plan has 1 fault",
             "faults": [{"pointer": "/steps", "message": "is required", "line": 1, "column": 1}],
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media="application/problem+json",
             body="metadata: {planId: empty, planVersion: \"1.0\"}\n", body_media=YAML)],
        body=DOCUMENT, answers={"200": ("No faults.", {JSON: ref("CheckedPlan")}, ())}),
    Operation(
        "GET", "/v1/plans/{planId}", "getPlan", "Plans", "plan.read", "List the versions of a plan",
        "Sorted by name.",
        [Example("versions", "versions of a plan", 200, {"plans": [REGISTERED]}, planId="greeting")],
        query=PAGED, errors=("404",), answers={"200": ("A page.", {JSON: ref("PlanList")}, ())}),
    Operation(
        "GET", "/v1/plans/{planId}/versions/{version}", "getPlanVersion", "Plans", "plan.read",
        "Get the document of a plan", "Returns exactly the registered bytes; the ETag is their SHA-256.",
        [Example("document", "in YAML", 200, GREETING, media=YAML, **plan()),
         Example("unchanged", "not modified", 304, **plan(**{"If-None-Match": f'"{DIGEST}"'}))],
        query=["IfNoneMatch"], errors=("404",),
        answers={"200": ("The document.", {YAML: text(), JSON: {"type": "object"}}, ("ETag",)),
                 "304": ("Not modified.", {}, ("ETag",))}),
    Operation(
        "GET", "/v1/plans/{planId}/versions/{version}/graph", "getPlanGraph", "Plans", "plan.read",
        "Draw a plan", "Draws the steps and their dependencies.",
        [Example("mermaid", "as Mermaid", 200, GRAPH, media=PLAIN, **plan()),
         Example("dot", "as DOT", 200, "digraph { greet }\n", media=PLAIN, **plan(format="dot"))],
        query=[query("format", "", {**words("mermaid dot terminal"), "default": "mermaid"})],
        errors=("404",), answers={"200": ("The drawing.", {PLAIN: text()}, ())}),
    Operation(
        "POST", "/v1/artifacts", "putArtifact", "Artifacts", "artifact.write", "Store an artifact",
        "The body is stored unchanged under its SHA-256; at most 1 GiB (setting `limits.artifact`). It is written to "
        "disk as it arrives; an incomplete body leaves nothing. `Content-Type` is stored with it.",
        [Example("note", "a short text", 201, {
            "uri": f"artifact:sha256:{NOTE_DIGEST}", "kind": "file", "sha256": NOTE_DIGEST,
            "sizeBytes": len(NOTE), "contentType": PLAIN, "name": "note.txt"}, body=NOTE,
            body_media=PLAIN, name="note.txt")],
        query=[query("name", "for people", text(maxLength=1024))],
        body={BYTES: text("any bytes"), PLAIN: text("any text"), "required": False}, errors=("507",),
        answers={"201": ("Stored.", {JSON: ref("ArtifactRef")}, ("Location",))}),
    Operation(
        "GET", "/v1/artifacts/{sha256}", "getArtifact", "Artifacts", "artifact.read", "Get an artifact",
        "Returns artifacts that the tenant uploaded, or with `runId` those produced by that run. The stored bytes are "
        "verified against the SHA-256 before the response begins, and again on the way: an incomplete response must "
        "be discarded.",
        [Example("note", "a short text", 200, NOTE, media=BYTES, sha256=NOTE_DIGEST)],
        query=[query("runId", "the run that produced the artifact", text(maxLength=1024)), "IfNoneMatch"],
        errors=("404", "500"), answers={"200": ("The bytes.", {BYTES: text()}, ("ETag",)),
                                  "304": ("Not modified.", {}, ("ETag",))}),
]
PARAMETERS = {
    "planId": ("the plan", text()),
    "version": ("the version of the plan", text()),
    "sha256": ("the SHA-256 of the content, hexadecimal", text()),
}
