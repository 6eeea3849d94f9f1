"""The objects on the wire, as src/wire and src/serve define them."""

from shapes import anything, asked, count, flag, many, record, ref, text, time, whole, words

IDENTIFIER = "^[A-Za-z0-9][A-Za-z0-9._:-]*$"
RUN_STATUS = "PENDING APPROVED RUNNING PAUSED COMPLETED FAILED CANCELLED"
SHA256 = "^[0-9a-f]{64}$"
SIGNALS = ("PAUSE RESUME CANCEL RETRY_STEP RETRY_RUN SKIP_STEP UPDATE_PARAMS INJECT_OVERRIDE "
           "UPDATE_TARGET EMERGENCY_STOP ESCALATE_ALERT")
ROLES = "viewer operator engineer admin system tenant-admin plan-author auditor"
INT32_MAX = 2**31 - 1
UINT32_MAX = 2**32 - 1


def identifier(description, **more):
    return text(description, pattern=IDENTIFIER, maxLength=128, **more)


def duration_ms(description):
    return count(description + ", in milliseconds", maximum=INT32_MAX)


ERRORS = {
    "Fault": record("One fault of a request.", {
        "pointer": text("its place: a JSON pointer into the body, or `?name` for a query parameter"),
        "message!": text(),
        "line": count("in a document, from 1"),
        "column": count(),
    }),
    "Problem": record("An error response (RFC 9457). `code` is stable and documented at `type`.", {
        "type!": text("address of the code's page", format="uri-reference"),
        "title!": text("the same for every problem of the code"),
        "status!": whole("of the response"),
        "code!": text("stable", pattern="^[A-Z0-9_]+$"),
        "detail": text("specific to this problem"),
        "faults": many(ref("Fault"), "at most 100"),
        "faultsLeftOut": count("number of further faults"),
        "traceId": text("identifies the call in logs", pattern="^[0-9a-f]{32}$"),
    }),
}

RUNS = {
    "PlanRef": asked("A reference to a plan document, which is fetched and verified before the run starts.", {
        "uri!": text(),
        "sha256!": text("of the document", pattern="^[0-9a-fA-F]{64}$"),
        "schemaVersion": text(),
        "planId": text(),
        "planVersion": text(),
    }),
    "StartRun": asked("Exactly one of `plan`, `planRef` and `planId` is required.", {
        "plan": text("the plan document, YAML or JSON", maxLength=8 << 20),
        "planRef": ref("PlanRef"),
        "planId": text("of a registered plan"),
        "planVersion": text("of the registered plan; default: the version registered last"),
        "inputs": {"type": "object", "description": "values for the plan's `inputs`"},
        "runId": identifier("the run's id; generated if omitted"),
        "requestId": identifier("identifies this request: repeating it returns the same run. Cannot be "
                                "combined with `runId`. Without both, the `Idempotency-Key` is used"),
        "projectId": identifier("", default="default"),
        "environmentId": identifier("", default="default"),
        "triggerSource": words("manual schedule webhook api", "what triggered the start"),
        "priority": whole("larger values first; default: the plan's", minimum=-1000, maximum=1000),
        "startAt": time("do not start before"),
    }),
    "StartedRun": record("A run that is durably recorded.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "existing": flag("the run already existed"),
        "queuePosition": count("position of a queued run; 1 is next"),
        "startAt": time(),
    }),
    "Step": record("The view of a step, which may not have started yet.", {
        "stepId!": text(),
        "name": text(),
        "kind": text("the tool"),
        "status!": words("WAITING PENDING RUNNING RETRYING SUCCESS FAILED SKIPPED"),
        "logicalAttempt": count("counts retries"),
        "attemptsMax": count(),
        "engineAttempt": count("counts deliveries of one attempt"),
        "startedAt": time(),
        "completedAt": time(),
        "wakesAt": time("when a retry or a timer is due"),
        "errorCode": text(),
        "errorMessage": text(),
        "skipCode": text(),
        "hookToken": text("set while it waits for a hook or an approval"),
        "itemsTotal": count("number of loop items"),
        "itemsDone": count(),
        "itemsFailed": count(),
        "itemsRunning": count(),
        "childRunId": text(),
        "dependsOn!": many(text()),
    }),
    "StepList": record("The steps in the order of the plan.", {"steps!": many(ref("Step"))}),
    "Run": record("A run of a plan.", {
        "runId!": identifier(""),
        "planId": text(),
        "planVersion": text(),
        "status!": words(RUN_STATUS),
        "substatus": text("`DRAINING` while a paused run has steps in flight; `PAUSE_REQUESTED` and "
                          "`RESUME_REQUESTED` until the engine that decides the run confirms"),
        "lastEventSeq": count("the watermark: the last event included in this view"),
        "queuePosition": count("position of a queued run"),
        "startedAt": time(),
        "completedAt": time(),
        "inputs": anything("after validation, with defaults"),
        "result": anything("the plan's outputs; set when the run is completed"),
        "errorCode": text(),
        "errorMessage": text(),
        "steps!": many(ref("Step"), "in the order of the plan; loop items are counted in their step"),
    }),
    "RunSummary": record("A run in a list.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "substatus": text(),
        "projectId": text(),
        "environmentId": text(),
        "planId": text(),
        "planVersion": text(),
        "errorCode": text("the code the run failed with"),
        "lastEventSeq": count(),
        "createdAt": time(),
        "updatedAt": time(),
        "quarantine": text("the reason, if the run is quarantined"),
    }),
    "RunList": record("Runs, the newest first.", {
        "runs!": many(ref("RunSummary")),
        "cursor": text("of the next page; omitted on the last page"),
    }),
    "RunCounts": record("Totals of the tenant.", {
        "events!": count(),
        "runs!": many(count(), "by status: index 1 is PENDING, then APPROVED, RUNNING, PAUSED, COMPLETED, "
                               "FAILED, CANCELLED; index 0 is always 0"),
    }),
    "StepError": record("Why a step or run failed.", {
        "code!": text(), "message!": text(), "retryable": flag(),
    }),
    "StepSnapshot": record("A step, folded from its events.", {
        "stepId!": text(),
        "status!": words("PENDING RUNNING SUCCESS FAILED SKIPPED"),
        "logicalAttemptId": count(),
        "engineAttemptId": count(),
        "startedAt": time(),
        "completedAt": time(),
        "artifacts": many(ref("ArtifactRef")),
        "error": ref("StepError"),
    }),
    "Snapshot": record("A run as of `lastEventSeq`, folded from its events. Also available for runs whose "
                       "events were appended and that have no plan here.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "substatus": text(),
        "message": text("a sentence, if the status alone is not sufficient"),
        "lastEventSeq!": count(),
        "tenantId": text(),
        "projectId": text(),
        "environmentId": text(),
        "planId": text(),
        "planVersion": text(),
        "engineRunRef": text(),
        "startedAt": time(),
        "completedAt": time(),
        "totalDurationMs": whole(),
        "error": ref("StepError"),
        "steps!": many(ref("StepSnapshot"), "by step id"),
        "artifacts": many(ref("ArtifactRef")),
        "counters": record("", {name: count() for name in (
            "steps", "running", "succeeded", "failed", "skipped", "hooksActive", "waitsOpen",
            "errorsOpen")}),
        "inconsistent": flag("an invalid stored event was ignored"),
    }),
    "Blocker": record("One reason why a run is waiting.", {
        "kind": text("`dependency`, `step`, `timer`, `hook`, `approval`, `retry`, `slot`, `admission`, "
                     "`pause`, `worker`, `lease`, `child`, `held`, `cancelling` or `store`"),
        "subject": text("the step, wait, hook, key, …"),
        "message": text("a sentence"),
        "causeSeq": count("the event that caused it"),
        "wakesAt": time("when it ends, if it depends only on time"),
        "remedy": text("what an operator can do, as a command"),
    }),
    "Explanation": record("Why a run is not progressing, or that it is.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "substatus": text(),
        "summary": text("one sentence"),
        "blockers!": many(ref("Blocker")),
    }),
    "Reason": asked("A reason to be recorded.", {"reason": text("", maxLength=500)}),
    "HookFailure": asked("Why a waiting step fails.", {
        "code!": identifier("the error code; a retry policy can name it in `retryOn`"),
        "message": text("what went wrong"),
        "retryable": {"type": "boolean", "default": True,
                      "description": "false if another attempt would fail too"},
    }),
    "Signal": asked("A command to a run.", {
        "signalId": identifier("chosen by the caller. Repeating the id and body returns the same decision. "
                               "Default: the `Idempotency-Key`, or a generated id"),
        "type!": words(SIGNALS),
        "payload": {"type": "object", "description": "the arguments of the type, such as `stepId`"},
        "reason": text("to be recorded; required for destructive signals"),
        "approvedBy": text("the second person, if the signal requires one"),
    }),
    "SignalDecision": record("The decision as recorded in the run's log.", {
        "signalId!": text(),
        "decision!": words("ACCEPTED REJECTED REVISION_REQUIRED"),
        "code": text("of a rejection"),
        "reason": text(),
        "repeated": flag("the decision was made earlier"),
        "newRunId": text("the new run of RETRY_RUN"),
        "runSeq": count("position of the decision in the log"),
    }),
}

EVENTS = {
    "Event": {"type": "object", "description": "An event in the dialect of the call; the schemas are in "
                                               "`schemas/<dialect>/`, the table in docs/events.md."},
    "LogEvent": record("An event as returned by reads.", {
        "runSeq": count("its position in its run, from 1 without gaps"),
        "type": text("its native name, independent of the dialect"),
        "event": ref("Event"),
    }),
    "EventPage": record("Events in order.", {
        "events!": many(ref("LogEvent")),
        "nextAfter": count("pass it as `after` to continue"),
        "more": flag("there were more than `limit`"),
    }),
    "Appended": record("A durably recorded event.", {
        "runId!": identifier(""),
        "eventId!": text(),
        "runSeq!": count(),
        "persistedAt!": time(),
        "idempotent": flag("the event already existed; nothing was written"),
        "payloadMismatch": flag("the event already existed with a different payload"),
    }),
    "AppendAnswer": record("Either `appended`, or why the event was refused.", {
        "appended": ref("Appended"),
        "code": text(),
        "detail": text(),
        "faults": many(ref("Fault")),
    }),
    "AppendAnswers": record("One result per event, in order. A refused event does not affect the others.",
                            {"results!": many(ref("AppendAnswer"))}),
    "Hook": record("A hook: a point where a run waits for external input.", {
        "token": text(),
        "runId!": identifier(""),
        "hookId": text(),
        "stepId": text("the waiting step"),
        "planId": text(),
        "status": words(RUN_STATUS, "of the run"),
        "kind": text("`approval` or `hook`, for a step of a plan"),
        "prompt": text("the question to the approver"),
        "createdAt": time("when it began to wait"),
        "until": time("when the step fails with TIMEOUT"),
    }),
}

PLANS = {
    "RegisteredPlan": record("A version of a plan. It always refers to the same document.", {
        "planId": text(),
        "planVersion": text(),
        "sha256": text("of the document", pattern=SHA256),
        "registeredAt": time(),
        "registeredBy": text(),
    }),
    "PlanList": record("Plans, sorted by id and version.", {
        "plans!": many(ref("RegisteredPlan")),
        "cursor": text("of the next page; omitted on the last page"),
    }),
    "PlanWarning": record("Something that is valid but probably unintended.", {
        "code": text(), "pointer": text(), "message!": text(), "line": count(), "column": count(),
    }),
    "CheckedPlan": record("A valid plan.", {
        "planId": text(),
        "planVersion": text(),
        "sha256": text("", pattern=SHA256),
        "steps": count("number of steps"),
        "warnings!": many(ref("PlanWarning")),
    }),
    "ArtifactRef": record("A stored piece of data, addressed by its content.", {
        "uri!": text(),
        "kind": text(),
        "sha256": text("", pattern=SHA256),
        "sizeBytes": count(),
        "contentType": text(),
        "name": text(),
    }),
}

STREAMS = {
    "Stream": record("", {
        "name!": text(),
        "chunks!": count(),
        "closed!": flag("no more chunks can be appended"),
    }),
    "StreamList": record("", {"streams!": many(ref("Stream")),
                              "nextAfter": text("pass it as `after` to continue")}),
    "ChunkPage": record("", {
        "chunks!": many(record("", {"index!": count("from 0"), "data!": text("Base64")})),
        "count!": count("chunks of the stream"),
        "closed!": flag("no more chunks can be appended"),
    }),
    "Message": record("A message that the queue delivers to an application.", {
        "messageId!": text(),
        "topic!": text(),
        "group": text("the run it belongs to"),
        "key": text("a deduplication key: a second message with this key is the same message"),
        "state!": words("WAITING DELIVERING DEAD"),
        "attempt!": count("number of the next attempt, or of the one in progress"),
        "sentAt!": time(),
        "dueAt!": time("earliest delivery"),
        "lastError": text(),
    }),
    "MessageList": record("", {"messages!": many(ref("Message")),
                               "nextAfter": text("pass it as `after` to continue")}),
}
WORK = {
    "Queue": record("A queue of tasks for workers.", {
        "queue!": text(),
        "waiting!": count("tasks waiting for a worker"),
        "held!": count("tasks held by workers"),
        "oldestMs": count("how long the first task has waited"),
        "workers!": count("workers that currently serve it"),
        "concurrency": count("limit of tasks held at once; omitted: no limit"),
    }),
    "QueueList": record("", {"queues!": many(ref("Queue"))}),
    "QueueLimit": asked("", {"concurrency!": count("limit of tasks held at once; 0: no limit",
                                                   maximum=UINT32_MAX)}),
    "QueueLimitSet": record("", {"concurrency!": count("limit of tasks held at once; 0: no limit")}),
    "NewWorker": asked("A process that executes tasks.", {
        "name": text("for people", maxLength=200),
        "kinds!": many(text("", pattern="^[A-Za-z][A-Za-z0-9._-]*$", maxLength=100),
                       "the kinds it can execute; kinds of the server's own tools are not allowed", minItems=1,
                       maxItems=1000),
        "queues": many(text("", minLength=1, maxLength=200),
                       "queues it serves; default: those of its kinds"),
        "slots": whole("tasks it can hold at once", minimum=1, maximum=10000, default=1),
    }),
    "NewWorkerAnswer": record("", {
        "workerId!": text(),
        "leaseMs": count("how long a lease lasts without a heartbeat"),
    }),
    "Worker": record("A worker that has called recently.", {
        "workerId!": text(),
        "name": text(),
        "kinds!": many(text()),
        "queues": many(text()),
        "slots!": count(),
        "held!": count("tasks it currently holds"),
        "draining": flag(),
        "seenAt": time(),
    }),
    "WorkerList": record("", {"workers!": many(ref("Worker"))}),
    "ReportError": asked("Why a task failed.", {
        "code!": text(),
        "message": text(),
        "retryable": flag("may be retried if the step's policy allows"),
        "category": text("USER, SYSTEM, PLATFORM or TIMEOUT"),
        "details": anything("any JSON"),
        "retryAfterMs": duration_ms("earliest next attempt"),
    }),
    "Report": asked("How a task ended: with `error` if it failed.", {
        "token!": text("of the task"),
        "result": anything("any JSON; the step's result"),
        "artifacts": many({"type": "object"}, "a list of ArtifactRef"),
        "error": ref("ReportError"),
    }),
    "Poll": asked("Reports, heartbeats and a request for tasks, in one round trip.", {
        "reports": many(ref("Report"), "", maxItems=1000),
        "heartbeats": many(text(), "tokens of tasks that are still running", maxItems=1000),
        "max": count("number of tasks wanted; 0: none", maximum=UINT32_MAX),
        "waitMs": duration_ms("how long to wait for the first task; at most a minute"),
    }),
    "Task": record("A leased task. Its token identifies this lease only.", {
        "token!": text(),
        "runId!": text(),
        "stepId!": text(),
        "kind!": text(),
        "queue": text(),
        "logicalAttempt": count("counts retries"),
        "engineAttempt": count("counts deliveries of one attempt"),
        "idempotencyKey": text("the same for every delivery of one attempt: pass it to the services you call"),
        "inputs": anything("of the step, with secrets resolved"),
        "timeoutMs": count(),
        "traceparent": text("of the request that started the run"),
        "tracestate": text("likewise"),
        "projectId": text(),
        "environmentId": text(),
    }),
    "RefusedReport": record("A refused report, such as one that came too late.", {
        "token!": text(), "code!": text(), "detail": text(),
    }),
    "PollAnswer": record("", {
        "tasks!": many(ref("Task")),
        "refused": many(ref("RefusedReport")),
        "stop": many(text(), "tokens of tasks to be stopped"),
        "leaseMs": count("how long a lease lasts without a heartbeat"),
    }),
    "Nothing": {"type": "object", "description": "An empty object.", "maxProperties": 0},
}

ADMIN = {
    "Alert": record("Something the operator should know.", {
        "at!": time(), "code!": text(), "severity": text("P1, P2 or P3"), "runId": text(),
        "tenantId": text("the tenant concerned; omitted: the engine"), "detail": text(),
    }),
    "AlertList": record("The alerts of this process, the newest first, at most 1,000.",
                        {"alerts!": many(ref("Alert"))}),
    "AuditEntry": record("An action that was performed or refused. Each entry is chained to the previous one.", {
        "seq!": count(), "at!": time(), "actor": text(), "tokenId": text(), "tenantId": text(),
        "action": text("an operation id, or `server.start`, `audit.cut` …"), "method": text(),
        "path": text(), "runId": text(), "status": whole("of the response"), "code": text("of a refusal"),
        "sourceIp": text(), "requestId": text("the trace id"), "detail": text(),
        "leftOut": count("refused anonymous calls that were left out before this entry"),
        "prev!": text("hash of the previous entry"), "hash!": text(),
    }),
    "AuditPage": record("", {
        "entries!": many(ref("AuditEntry")), "nextAfter": count("pass it as `after` to continue"),
        "more": flag(),
        "broken": count("entries of this page that are damaged or missing; absent if there are none. Run "
                        "`everstep audit verify`"),
    }),
    "NewToken": asked("A token cannot have more than its creator's own roles and tenant allow.", {
        "name!": text("for people"),
        "tenantId": text("default: the caller's own"),
        "roles!": many(words(ROLES), "", minItems=1),
        "expiresAt": time(),
    }),
    "Token": record("An API token. `token`, the secret, is only in the response to its creation or rotation.", {
        "tokenId": text(), "name": text(), "tenantId": text(), "roles": many(words(ROLES)),
        "createdAt": time(), "expiresAt": time(), "lastUsedAt": time("to the minute"),
        "rotatedAt": time(), "revokedAt": time(), "token": text("send it as `Authorization: Bearer`"),
    }),
    "TokenList": record("", {"tokens!": many(ref("Token"))}),
    "Rotation": asked("", {"graceMs": duration_ms("how long the old secret stays valid (default 60000)")}),
}

BUS = {
    "SinkDefinition": asked("A sink; docs/sinks.md describes the members.", {
        "sinkId": text("the same as in the path"),
        "kind!": words("webhook nats file"),
        "from": words("now beginning", "position of a new sink (default now)"),
        "webhook": asked("of kind webhook", {
            "url!": text("http or https; redirects are not followed"),
            "secrets!": many(text("`secret:KEY`: a secret of the server"), "every one of them signs", minItems=1,
                             maxItems=4),
            "timeoutMs": count("10 to 300000 (default 15000)"),
            "caFile": text("only in the server's settings"),
        }),
        "nats": asked("of kind nats", {
            "servers!": many(text("nats://host:port or tls://host:port"), "", minItems=1),
            "credentials": text("a file; only in the server's settings"),
            "caFile": text("only in the server's settings"),
            "timeoutMs": count("10 to 300000 (default 5000)"),
        }),
        "file": asked("of kind file", {
            "directory": text("only in the server's settings"),
            "rotateBytes": count("at least 4096 (default 64 MiB)"),
            "keep": count("rotated files to keep; 0: all"),
        }),
        "dialect": words("native contract devkit noetl elephant", "dialect of the documents (default native)"),
        "cloudEvents": words("structured binary batch", "wraps the documents; default: unwrapped"),
        "topic": text("may contain {type} {tenant} {project} {environment} {plan} {run}"),
        "filter": asked("selects events; omitted members do not restrict", {
            "tenants": many(text(), "only in the server's settings"),
            "plans": many(text()),
            "entities": many(text("run, step, hook …")),
            "types": many(text("native names")),
            "when": text("an expression over `event`, the native document"),
        }),
        "redact": many(text("a pointer such as /payload/card; * is every member")),
        "payloadBytes": count("a larger payload becomes an artifact (default 262144)"),
        "delivery": asked("", {
            "attempts": count("attempts before an event becomes a dead letter (default 12)"),
            "backoffInitialMs": count("default 500"),
            "backoffMaxMs": count("default 300000"),
            "laterEvents": words("hold pass", "later events of a run with a dead letter (default hold)"),
            "batch": count("maximum events per batch (default 100; for NATS and files 500)"),
            "batchBytes": count("default 1 MiB"),
            "inFlight": count("concurrent batches (default 4)"),
            "deadLetters": count("the sink stops if it has more (default 100000)"),
        }),
    }),
    "Sink": record("A sink and its state.", {
        "sinkId!": text(), "ofServer": flag("it is defined in the server's settings"),
        "state!": words("ACTIVE FAILING STALLED PAUSED DISABLED"),
        "position!": count("position in the outbox: everything up to it is settled"),
        "lag!": count("changes in the outbox after it"), "ageMs!": count("age of the oldest of them"),
        "delivered!": count("events delivered since its start"), "failures!": count("batches that failed"),
        "waiting!": count("events in memory"), "inFlight!": count("batches"),
        "deadLetters!": count(), "replaying!": count("dead letters still to be replayed"),
        "lastFailure": text(), "definition!": {"type": "object", "description": "as stored"},
    }),
    "SinkList": record("", {"sinks!": many(ref("Sink"))}),
    "SinkMessage": record("A message that is sent for an event.", {
        "id!": text("the same for every attempt"), "topic": text(), "contentType": text(),
        "body": anything("the document"),
    }),
    "DeadLetter": record("An event that a sink could not deliver, or that is still pending.", {
        "letterId!": text(), "runId!": text(), "runSeq!": count(), "eventType": text(),
        "persistedAt": time(), "diedAt": time(),
        "attempts": count("omitted: held back by an earlier one of its run"), "reason": text(),
        "fault": text("why it cannot be sent at all"), "messages": many(ref("SinkMessage")),
    }),
    "DeadLetterPage": record("", {"deadLetters!": many(ref("DeadLetter")), "cursor": text()}),
    "PendingList": record("", {"events!": many(ref("DeadLetter"))}),
    "LetterOrder": asked("Selects dead letters; omitted members do not restrict.", {
        "ids": many(text(), "", maxItems=1000), "runId": text(), "eventType": text(),
        "reason": text("a part of the reason"), "perSecond": {"type": "number", "minimum": 0},
        "dryRun": flag("only count them"),
    }),
    "LetterCount": record("", {"deadLetters!": count(), "dryRun!": flag()}),
    "InboundRule": asked("The effect of an inbound event: either `start` or `deliver`.", {
        "ruleId": text("the same as in the path"),
        "types!": many(text("event types; `com.acme.*` matches the prefix"), "", minItems=1),
        "sources": many(text()), "when": text("an expression over `event`"),
        "start": asked("starts a run of a registered plan", {
            "planId!": text(), "planVersion": text("default: the newest"), "projectId": text(),
            "environmentId": text(), "inputs": anything("templates over `event`"),
        }),
        "deliver": asked("completes a hook", {
            "token!": text("a template"), "payload": anything("templates; default: the event's data"),
        }),
    }),
    "InboundRuleList": record("", {"rules!": many(ref("InboundRule"))}),
    "InboundMatch": record("A rule that matched the event.", {
        "ruleId!": text(), "runId": text("the run that was started or resumed"),
        "duplicate": flag("the event was received before"), "code": text("of an error"), "detail": text(),
    }),
    "InboundAnswer": record("One result per event, in order.", {"results!": many(record("", {
        "eventId!": text(), "matches!": many(ref("InboundMatch"))}))}),
}

SCHEMAS = {**ERRORS, **RUNS, **EVENTS, **STREAMS, **PLANS, **WORK, **BUS, **ADMIN}
