"""Runs: starting, reading, commands."""

from schemas import IDENTIFIER, RUN_STATUS
from shapes import Example, Operation, query, ref, text, time, whole, words

GREETING = """metadata: {planId: greeting, planVersion: "1.0"}
inputs:
  name: {type: string, default: world}
steps:
  - stepId: greet
    kind: echo
    inputs: {message: "Hello, {{ inputs.name }}"}
outputs: {said: "{{ steps.greet.result.message }}"}
"""
RELEASE = """metadata: {planId: release, planVersion: "1.0"}
steps:
  - stepId: sign-off
    waitFor: {approval: {prompt: "Publish 2.4?", token: approve-2.4, timeout: 24h}}
  - {stepId: publish, kind: echo, inputs: {published: "2.4"}}
"""
PAYOUT = """metadata: {planId: payout, planVersion: "1.0", requiresApproval: true}
steps:
  - {stepId: pay, kind: echo, inputs: {amount: 12}}
"""
INVOICE = """metadata: {planId: invoice, planVersion: "1.0"}
steps:
  - {stepId: render, kind: invoice.render, queue: documents, inputs: {number: 7}}
"""
ORDER = """metadata: {planId: order, planVersion: "1.0"}
steps:
  - {stepId: paid, dependsOn: [], waitFor: {hook: {token: paid-7}}}
  - {stepId: label, dependsOn: [], heartbeatTimeout: 1h, onFailure: continue, waitFor: {hook: {token: label-7}}}
  - {stepId: ship, kind: echo, dependsOn: [paid, label], inputs: {paid: "{{ steps.paid.result.amount }}"}}
"""
AT = "2026-02-11T10:30:00.000Z"
GREET = {"stepId": "greet", "kind": "echo", "status": "SUCCESS", "logicalAttempt": 1, "attemptsMax": 1,
         "engineAttempt": 1, "startedAt": AT, "completedAt": AT, "dependsOn": []}
SIGN_OFF = {"stepId": "sign-off", "status": "RUNNING", "logicalAttempt": 1, "attemptsMax": 1,
            "engineAttempt": 1, "startedAt": AT, "wakesAt": "2026-02-12T10:30:00.000Z",
            "hookToken": "approve-2.4", "dependsOn": []}
GREETING_RUN = {"runId": "greeting-1", "planId": "greeting", "planVersion": "1.0", "status": "COMPLETED",
                "lastEventSeq": 5, "startedAt": AT, "completedAt": AT, "inputs": {"name": "Ada"},
                "result": {"said": "Hello, Ada"}, "steps": [GREET]}
ACCEPTED = {"signalId": "stop-for-now", "decision": "ACCEPTED", "runSeq": 5}
WATERMARK = ("ETag", "LastEventSeq")
JSON = "application/json"
WAIT = query("wait", "a duration such as `30s` or `PT30S`, at most a minute", text())
STARTED = {"anyOf": [ref("StartedRun"), ref("Run")]}


def start(name, summary, run_id, status, **body):
    return Example(name, summary, 201, {"runId": run_id, "status": status}, body={"runId": run_id, **body})


def look(path, name, summary, description, schema, examples, *, parameters=(), errors=("404", "410")):
    """A GET that returns the watermark and can be conditional."""
    return Operation("GET", path, name, "Runs", "run.read", summary, description, examples,
                     query=[*parameters, "IfNoneMatch"], errors=errors,
                     answers={"200": ("The requested object.", {JSON: ref(schema)}, WATERMARK),
                              "304": ("Not modified.", {}, WATERMARK)})


OPERATIONS = [
    Operation(
        "POST", "/v1/runs", "startRun", "Runs", "run.start", "Start a run",
        "Accepts a plan document, a reference to one, or the name of a registered plan. The run is durable on "
        "return. Repeating the `Idempotency-Key`, `requestId` or `runId` does not start a second run. With `wait` "
        "the response is the run itself, as soon as it has ended or the time is over.",
        [start("registered", "a registered plan", "greeting-1", "RUNNING", planId="greeting",
               inputs={"name": "Ada"}),
         start("document", "a plan in the request", "release-2.4", "RUNNING", plan=RELEASE),
         start("approval", "a plan whose runs need approval", "payout-3", "PENDING", plan=PAYOUT),
         start("worker", "a plan with a step for a worker", "invoice-7", "RUNNING", plan=INVOICE),
         start("hook", "a plan with a step that waits for a webhook", "order-7", "RUNNING", plan=ORDER),
         start("scope", "with project, environment and priority", "greeting-2", "RUNNING",
               planId="greeting", planVersion="1.0", projectId="shop", environmentId="staging",
               priority=10, triggerSource="schedule"),
         Example("later", "at a later time", 201, {"runId": "greeting-3", "status": "PENDING",
                                                     "startAt": "2036-02-11T00:00:00.000Z"},
                 body={"runId": "greeting-3", "planId": "greeting", "startAt": "2036-02-11T00:00:00Z"}),
         Example("waited", "and wait for its end", 201, {**GREETING_RUN, "runId": "greeting-4"}, wait="10s",
                 body={"runId": "greeting-4", "planId": "greeting", "inputs": {"name": "Ada"}})],
        body={JSON: ref("StartRun")}, errors=("404", "429", "507"), query=[WAIT],
        answers={"200": ("The run already existed.", {JSON: STARTED}, ("Location",)),
                 "201": ("The run was started or queued.", {JSON: STARTED}, ("Location",))}),
    Operation(
        "GET", "/v1/runs", "listRuns", "Runs", "run.read", "List runs",
        "The newest first. A run must match all filters. A page may contain fewer runs than `limit`, or none, and "
        "still have a `cursor`, if the runs examined did not match.",
        [Example("all", "the newest runs", 200, {"runs": [
            {"runId": "greeting-1", "status": "COMPLETED", "projectId": "default",
             "environmentId": "default", "planId": "greeting", "planVersion": "1.0", "lastEventSeq": 5,
             "createdAt": AT, "updatedAt": AT}]}, limit=10),
         Example("filtered", "running runs of a plan", 200, {"runs": []}, planId="release",
                 status="RUNNING", createdFrom="2026-02-11T00:00:00Z")],
        query=[query("projectId", "", text(maxLength=1024)),
               query("environmentId", "", text(maxLength=1024)),
               query("planId", "", text(maxLength=1024)), query("planVersion", "", text(maxLength=1024)),
               query("runIdPrefix", "prefix of the run's id", text(maxLength=1024)),
               query("status", "", words(RUN_STATUS)),
               query("errorCode", "the code the run failed with", text(maxLength=1024)),
               query("createdFrom", "created at or after", time()),
               query("createdUntil", "created before", time()),
               query("updatedFrom", "last event at or after", time()),
               query("updatedUntil", "last event before", time()),
               "Cursor", query("limit", "", whole(minimum=1, maximum=1000, default=50))],
        answers={"200": ("A page.", {JSON: ref("RunList")}, ())}),
    Operation(
        "GET", "/v1/counts", "countRuns", "Runs", "run.read", "Count runs and events", "Counts those of the tenant.",
        [Example("counts", "the tenant's totals", 200,
                 {"events": 42, "runs": [0, 1, 0, 2, 0, 3, 0, 0]})],
        answers={"200": ("The counts.", {JSON: ref("RunCounts")}, ())}),
    look("/v1/runs/{runId}", "getRun", "Get a run",
         "With `wait` the response comes as soon as the run has ended or the time is over.", "Run",
         [Example("ended", "wait for the end", 200, GREETING_RUN, runId="greeting-1", wait="10s"),
          Example("unchanged", "not modified", 304, runId="greeting-1",
                  **{"If-None-Match": '"5"'})],
         parameters=[WAIT], errors=("404", "410", "422")),
    Operation(
        "POST", "/v1/runs/{runId}/cancel", "cancelRun", "Runs", "run.cancel", "Cancel a run",
        "The signal CANCEL: running steps are stopped and completed ones are compensated.",
        [Example("cancel", "with a reason", 200, {"signalId": "cancel-1", "decision": "ACCEPTED",
                                                  "runSeq": 3},
                 runId="greeting-3", body={"reason": "not needed any more"})],
        body={JSON: ref("Reason"), "required": False}, errors=("404", "410"),
        answers={"200": ("The decision.", {JSON: ref("SignalDecision")}, ())}),
    Operation(
        "POST", "/v1/runs/{runId}/approve", "approveRun", "Runs", "run.approve",
        "Approve a run that needs approval", "For plans with `requiresApproval`.",
        [Example("approve", "with a reason", 200,
                 {"runId": "payout-3", "planId": "payout", "planVersion": "1.0", "status": "RUNNING",
                  "lastEventSeq": 3, "steps": []}, runId="payout-3", body={"reason": "checked by Ada"})],
        body={JSON: ref("Reason"), "required": False}, errors=("404", "410"),
        answers={"200": ("The run.", {JSON: ref("Run")}, WATERMARK), "304": ("As for a GET.", {}, WATERMARK)}),
    look("/v1/runs/{runId}/snapshot", "getSnapshot", "Get a snapshot of a run",
         "Folds the run's events: the current state, or with `at` the state as of that event. With "
         "`consistentAfter` the snapshot includes that event, or the response is 412.", "Snapshot",
         [Example("now", "the current state", 200, {
             "runId": "greeting-1", "status": "COMPLETED", "lastEventSeq": 5, "tenantId": "default",
             "projectId": "default", "environmentId": "default", "planId": "greeting",
             "planVersion": "1.0", "startedAt": AT, "completedAt": AT, "totalDurationMs": 3,
             "steps": [{"stepId": "greet", "status": "SUCCESS", "logicalAttemptId": 1,
                        "engineAttemptId": 1, "startedAt": AT, "completedAt": AT, "artifacts": []}],
             "artifacts": [], "counters": {"steps": 1, "running": 0, "succeeded": 1, "failed": 0,
                                           "skipped": 0, "hooksActive": 0, "waitsOpen": 0,
                                           "errorsOpen": 0}}, runId="greeting-1"),
          Example("past", "as of its first event", 200, {
              "runId": "greeting-1", "status": "PENDING", "lastEventSeq": 1, "steps": []},
              runId="greeting-1", at=1, consistentAfter=1)],
         parameters=[query("at", "as of this runSeq", whole(minimum=1)),
                     query("consistentAfter", "a runSeq that must be included", whole(minimum=0))],
         errors=("404", "410", "412")),
    look("/v1/runs/{runId}/steps", "listSteps", "List the steps of a run", "In the order of the plan.",
         "StepList", [Example("steps", "of an ended run", 200, {"steps": [GREET]},
                              runId="greeting-1")]),
    look("/v1/runs/{runId}/steps/{stepId}", "getStep", "Get a step", "One step of the plan.", "Step",
         [Example("step", "a step that waits for an approval", 200, SIGN_OFF, runId="release-2.4",
                  stepId="sign-off")]),
    Operation(
        "GET", "/v1/runs/{runId}/why", "explainRun", "Runs", "run.read", "Explain why a run is not progressing",
        "Lists what the run waits for, since which event, and what can be done.",
        [Example("approval", "it waits for a person", 200, {
            "runId": "release-2.4", "status": "RUNNING", "summary": "waits for the approval of sign-off",
            "blockers": [{"kind": "approval", "subject": "sign-off", "message": "sign-off waits for a yes",
                          "causeSeq": 3}]}, runId="release-2.4")],
        errors=("404", "410"), answers={"200": ("The explanation.", {JSON: ref("Explanation")}, ("LastEventSeq",))}),
    Operation(
        "POST", "/v1/runs/{runId}/signals", "sendSignal", "Signals", "signal.send", "Send a signal",
        "Sends a command to a run. The decision is recorded in the run's log before it takes effect. The engine "
        "decides which roles may send which signals; see docs/security.md.",
        [Example("pause", "pause a run", 200, ACCEPTED, runId="release-2.4",
                 body={"signalId": "stop-for-now", "type": "PAUSE", "payload": {"reason": "audit"}}),
         Example("resume", "resume a run", 200, {"signalId": "go-on", "decision": "ACCEPTED", "runSeq": 7},
                 runId="release-2.4", body={"signalId": "go-on", "type": "RESUME", "reason": "audited"})],
        body={JSON: ref("Signal")}, errors=("404", "410"),
        answers={"200": ("The decision.", {JSON: ref("SignalDecision")}, ())}),
    Operation(
        "GET", "/v1/runs/{runId}/signals", "listSignals", "Signals", "run.read",
        "List the decisions on signals",
        "Returns the run's events SignalAccepted and SignalRejected, in pages of at most 4 MiB: while `more` is true, "
        "continue with `after` set to `nextAfter`.",
        [Example("decisions", "of a run", 200, {"events": [
            {"runSeq": 5, "type": "SignalAccepted", "event": {"eventType": "SignalAccepted"}}],
            "nextAfter": 5}, runId="release-2.4", after=0, limit=100)],
        query=[query("after", "the last runSeq already received", whole(minimum=0, default=0)),
               query("limit", "decisions in a page", whole(minimum=1, maximum=1000, default=1000))],
        errors=("404", "410"), answers={"200": ("A page of decisions.", {JSON: ref("EventPage")}, ("LastEventSeq",))}),
]
PARAMETERS = {
    "runId": ("the run", text(pattern=IDENTIFIER, maxLength=128)),
    "stepId": ("the step of the plan", text()),
}
