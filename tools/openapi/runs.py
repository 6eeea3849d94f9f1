"""Runs: start, look, order."""

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
  - {stepId: paid, waitFor: {hook: {token: paid-7}}}
  - {stepId: ship, kind: echo, inputs: {paid: "{{ steps.paid.result.amount }}"}}
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
    """A GET that carries the watermark and can be conditional."""
    return Operation("GET", path, name, "Runs", "run.read", summary, description, examples,
                     query=[*parameters, "IfNoneMatch"], errors=errors,
                     answers={"200": ("What was asked for.", {JSON: ref(schema)}, WATERMARK),
                              "304": ("The client has it.", {}, WATERMARK)})


OPERATIONS = [
    Operation(
        "POST", "/v1/runs", "startRun", "Runs", "run.start", "Start a run",
        "By a plan's document, a reference to it, or the name of a registered plan. On return the run is "
        "durable. The same `Idempotency-Key`, `requestId` or `runId` again starts nothing twice. With `wait` "
        "the answer is the run itself, when it has ended or the time is over, whichever is first.",
        [start("registered", "a registered plan", "greeting-1", "RUNNING", planId="greeting",
               inputs={"name": "Ada"}),
         start("document", "a plan that is sent along", "release-2.4", "RUNNING", plan=RELEASE),
         start("approval", "a plan whose runs have to be approved", "payout-3", "PENDING", plan=PAYOUT),
         start("worker", "a plan with a step for a worker", "invoice-7", "RUNNING", plan=INVOICE),
         start("hook", "a plan with a step that waits for a webhook", "order-7", "RUNNING", plan=ORDER),
         start("scope", "with project, environment and priority", "greeting-2", "RUNNING",
               planId="greeting", planVersion="1.0", projectId="shop", environmentId="staging",
               priority=10, triggerSource="schedule"),
         Example("later", "not before a time", 201, {"runId": "greeting-3", "status": "PENDING",
                                                     "startAt": "2036-02-11T00:00:00.000Z"},
                 body={"runId": "greeting-3", "planId": "greeting", "startAt": "2036-02-11T00:00:00Z"}),
         Example("waited", "and wait for its end", 201, {**GREETING_RUN, "runId": "greeting-4"}, wait="10s",
                 body={"runId": "greeting-4", "planId": "greeting", "inputs": {"name": "Ada"}})],
        body={JSON: ref("StartRun")}, errors=("404", "429", "507"), query=[WAIT],
        answers={"200": ("It had been started before.", {JSON: STARTED}, ("Location",)),
                 "201": ("It was started, or waits for its turn.", {JSON: STARTED}, ("Location",))}),
    Operation(
        "GET", "/v1/runs", "listRuns", "Runs", "run.read", "List runs",
        "Newest first. Filters go together: a run must fit all of them. A page may have fewer runs than `limit`, or "
        "none, and still a `cursor`: what was looked through did not fit.",
        [Example("all", "the newest runs", 200, {"runs": [
            {"runId": "greeting-1", "status": "COMPLETED", "projectId": "default",
             "environmentId": "default", "planId": "greeting", "planVersion": "1.0", "lastEventSeq": 5,
             "createdAt": AT, "updatedAt": AT}]}, limit=10),
         Example("filtered", "runs of a plan that wait", 200, {"runs": []}, planId="release",
                 status="RUNNING", createdFrom="2026-02-11T00:00:00Z")],
        query=[query("projectId", "", text(maxLength=1024)),
               query("environmentId", "", text(maxLength=1024)),
               query("planId", "", text(maxLength=1024)), query("planVersion", "", text(maxLength=1024)),
               query("runIdPrefix", "how the id begins", text(maxLength=1024)),
               query("status", "", words(RUN_STATUS)),
               query("errorCode", "that the run failed with", text(maxLength=1024)),
               query("createdFrom", "created at or after", time()),
               query("createdUntil", "created before", time()),
               query("updatedFrom", "with its last event at or after", time()),
               query("updatedUntil", "with its last event before", time()),
               "Cursor", query("limit", "", whole(minimum=1, maximum=1000, default=50))],
        answers={"200": ("A page.", {JSON: ref("RunList")}, ())}),
    Operation(
        "GET", "/v1/counts", "countRuns", "Runs", "run.read", "Count runs and events", "Of the tenant.",
        [Example("counts", "how much there is", 200,
                 {"events": 42, "runs": [0, 1, 0, 2, 0, 3, 0, 0]})],
        answers={"200": ("The counts.", {JSON: ref("RunCounts")}, ())}),
    look("/v1/runs/{runId}", "getRun", "Look at a run",
         "With `wait` the answer comes when the run has ended, or when the time is over, whichever is "
         "first.", "Run",
         [Example("ended", "wait for the end", 200, GREETING_RUN, runId="greeting-1", wait="10s"),
          Example("unchanged", "nothing has changed since", 304, runId="greeting-1",
                  **{"If-None-Match": '"5"'})],
         parameters=[WAIT], errors=("404", "410", "422")),
    Operation(
        "POST", "/v1/runs/{runId}/cancel", "cancelRun", "Runs", "run.cancel", "Cancel a run",
        "The signal CANCEL: running steps are stopped, what came through is compensated.",
        [Example("cancel", "with a reason", 200, {"signalId": "cancel-1", "decision": "ACCEPTED",
                                                  "runSeq": 3},
                 runId="greeting-3", body={"reason": "not needed any more"})],
        body={JSON: ref("Reason"), "required": False}, errors=("404", "410"),
        answers={"200": ("The decision.", {JSON: ref("SignalDecision")}, ())}),
    Operation(
        "POST", "/v1/runs/{runId}/approve", "approveRun", "Runs", "run.approve",
        "Approve a run that waits for it", "For plans that say `requiresApproval`.",
        [Example("approve", "with a reason", 200,
                 {"runId": "payout-3", "planId": "payout", "planVersion": "1.0", "status": "RUNNING",
                  "lastEventSeq": 3, "steps": []}, runId="payout-3", body={"reason": "checked by Ada"})],
        body={JSON: ref("Reason"), "required": False}, errors=("404", "410"),
        answers={"200": ("The run.", {JSON: ref("Run")}, WATERMARK), "304": ("As a GET.", {}, WATERMARK)}),
    look("/v1/runs/{runId}/snapshot", "getSnapshot", "Fold a run's events",
         "Now, or with `at` as of any of its events. With `consistentAfter` the answer has seen that event, "
         "or is 412.", "Snapshot",
         [Example("now", "as of now", 200, {
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
                     query("consistentAfter", "a runSeq that must have been seen", whole(minimum=0))],
         errors=("404", "410", "412")),
    look("/v1/runs/{runId}/steps", "listSteps", "List the steps of a run", "In the order of the plan.",
         "StepList", [Example("steps", "of a run that has ended", 200, {"steps": [GREET]},
                              runId="greeting-1")]),
    look("/v1/runs/{runId}/steps/{stepId}", "getStep", "Look at a step", "One step of the plan.", "Step",
         [Example("step", "one that waits for an approval", 200, SIGN_OFF, runId="release-2.4",
                  stepId="sign-off")]),
    Operation(
        "GET", "/v1/runs/{runId}/why", "explainRun", "Runs", "run.read", "Ask why a run does not go on",
        "What it waits for, since which event, and what can be done.",
        [Example("approval", "it waits for a person", 200, {
            "runId": "release-2.4", "status": "RUNNING", "summary": "waits for the approval of sign-off",
            "blockers": [{"kind": "approval", "subject": "sign-off", "message": "sign-off waits for a yes",
                          "causeSeq": 3}]}, runId="release-2.4")],
        errors=("404", "410"), answers={"200": ("Why.", {JSON: ref("Explanation")}, ("LastEventSeq",))}),
    Operation(
        "POST", "/v1/runs/{runId}/signals", "sendSignal", "Signals", "signal.send", "Send a signal",
        "An order to a run. The decision is recorded in the run's log before it takes effect. Which role may "
        "send which signal is decided by the engine; see docs/security.md.",
        [Example("pause", "pause a run", 200, ACCEPTED, runId="release-2.4",
                 body={"signalId": "stop-for-now", "type": "PAUSE", "payload": {"reason": "audit"}}),
         Example("resume", "go on", 200, {"signalId": "go-on", "decision": "ACCEPTED", "runSeq": 7},
                 runId="release-2.4", body={"signalId": "go-on", "type": "RESUME", "reason": "audited"})],
        body={JSON: ref("Signal")}, errors=("404", "410"),
        answers={"200": ("The decision.", {JSON: ref("SignalDecision")}, ())}),
    Operation(
        "GET", "/v1/runs/{runId}/signals", "listSignals", "Signals", "run.read",
        "List the decisions on signals", "The events SignalAccepted and SignalRejected of the run.",
        [Example("decisions", "of a run", 200, {"events": [
            {"runSeq": 5, "type": "SignalAccepted", "event": {"eventType": "SignalAccepted"}}],
            "nextAfter": 5}, runId="release-2.4")],
        errors=("404", "410"), answers={"200": ("All of them.", {JSON: ref("EventPage")}, ("LastEventSeq",))}),
]
PARAMETERS = {
    "runId": ("the run", text(pattern=IDENTIFIER, maxLength=128)),
    "stepId": ("the step of the plan", text()),
}
