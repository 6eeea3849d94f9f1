"""What goes over the wire, as src/wire and src/serve describe it."""

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
    "Fault": record("One thing that is wrong with a request.", {
        "pointer": text("where: a JSON pointer into the body, or `?name` for a parameter of the query"),
        "message!": text(),
        "line": count("of a document, from 1"),
        "column": count(),
    }),
    "Problem": record("An answer that is an error (RFC 9457). `code` is stable; its page is at `type`.", {
        "type!": text("the page of the code", format="uri-reference"),
        "title!": text("the same for every problem of the code"),
        "status!": whole("of the answer"),
        "code!": text("stable", pattern="^[A-Z0-9_]+$"),
        "detail": text("of this problem"),
        "faults": many(ref("Fault"), "at most 100"),
        "faultsLeftOut": count("how many more there are"),
        "traceId": text("finds the call in logs", pattern="^[0-9a-f]{32}$"),
    }),
}

RUNS = {
    "PlanRef": asked("Where a plan's document is. It is fetched and checked before anything starts.", {
        "uri!": text(),
        "sha256!": text("of the document", pattern="^[0-9a-fA-F]{64}$"),
        "schemaVersion": text(),
        "planId": text(),
        "planVersion": text(),
    }),
    "StartRun": asked("Exactly one of `plan`, `planRef` and `planId` says what to run.", {
        "plan": text("the document itself, YAML or JSON", maxLength=8 << 20),
        "planRef": ref("PlanRef"),
        "planId": text("of a registered plan"),
        "planVersion": text("of the registered plan; without it the version registered last"),
        "inputs": {"type": "object", "description": "what the plan's `inputs` declare"},
        "runId": identifier("the run's id; without it one is made"),
        "requestId": identifier("names this request: the same again gives the same run. Not together "
                                "with `runId`. Without both, the `Idempotency-Key` is taken"),
        "projectId": identifier("", default="default"),
        "environmentId": identifier("", default="default"),
        "triggerSource": words("manual schedule webhook api", "what made somebody start it"),
        "priority": whole("larger first; without it the plan's", minimum=-1000, maximum=1000),
        "startAt": time("not before"),
    }),
    "StartedRun": record("A run that is durable.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "existing": flag("the request had been made before"),
        "queuePosition": count("of a run that waits for its turn; 1 is next"),
        "startAt": time(),
    }),
    "Step": record("A step as people see it, also one that has not begun.", {
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
        "hookToken": text("while it waits for a hook or an approval"),
        "itemsTotal": count("of a loop"),
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
        "substatus": text("`DRAINING` while a paused run has steps in flight"),
        "lastEventSeq": count("the watermark: the last event that this view has seen"),
        "queuePosition": count("of a run that waits for its turn"),
        "startedAt": time(),
        "completedAt": time(),
        "inputs": anything("as checked, with defaults"),
        "result": anything("the plan's outputs, of a completed run"),
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
        "errorCode": text("that it failed with"),
        "lastEventSeq": count(),
        "createdAt": time(),
        "updatedAt": time(),
        "quarantine": text("why, if the run is quarantined"),
    }),
    "RunList": record("Runs, newest first.", {
        "runs!": many(ref("RunSummary")),
        "cursor": text("of the next page; not there: no more"),
    }),
    "RunCounts": record("How much the tenant has.", {
        "events!": count(),
        "runs!": many(count(), "by status: at 1 PENDING, then APPROVED, RUNNING, PAUSED, COMPLETED, "
                               "FAILED, CANCELLED; at 0 always 0"),
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
    "Snapshot": record("A run as of `lastEventSeq`, folded from its events. Also of runs that were "
                       "appended and have no plan here.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "substatus": text(),
        "message": text("a sentence, where the status alone does not say it"),
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
        "inconsistent": flag("a stored event that is not valid was ignored"),
    }),
    "Blocker": record("One thing that a run waits for.", {
        "kind": text("`dependency`, `step`, `timer`, `hook`, `approval`, `retry`, `slot`, `admission`, "
                     "`pause`, `worker`, `lease`, `child`, `held`, `cancelling` or `store`"),
        "subject": text("the step, wait, hook, key …"),
        "message": text("a sentence"),
        "causeSeq": count("the event that brought it about"),
        "wakesAt": time("when time alone decides"),
        "remedy": text("what an operator can do, as a command"),
    }),
    "Explanation": record("Why a run does not go on, or that it does.", {
        "runId!": identifier(""),
        "status!": words(RUN_STATUS),
        "substatus": text(),
        "summary": text("one sentence"),
        "blockers!": many(ref("Blocker")),
    }),
    "Reason": asked("For the record.", {"reason": text("", maxLength=500)}),
    "Signal": asked("An order to a run.", {
        "signalId": identifier("the caller's. The same id and body: the same answer. Without it the "
                               "`Idempotency-Key` is taken, or one is made"),
        "type!": words(SIGNALS),
        "payload": {"type": "object", "description": "what the type takes, such as `stepId`"},
        "reason": text("for the record; destructive signals need one"),
        "approvedBy": text("the second person, where a signal needs one"),
    }),
    "SignalDecision": record("What was decided, as recorded in the run's log.", {
        "signalId!": text(),
        "decision!": words("ACCEPTED REJECTED REVISION_REQUIRED"),
        "code": text("of a rejection"),
        "reason": text(),
        "repeated": flag("it was decided before"),
        "newRunId": text("of RETRY_RUN"),
        "runSeq": count("where the decision stands in the log"),
    }),
}

EVENTS = {
    "Event": {"type": "object", "description": "An event in the dialect of the call; the schemas are in "
                                               "`schemas/<dialect>/`, the table in docs/events.md."},
    "LogEvent": record("An event as it is read.", {
        "runSeq": count("its place in its run, from 1 without gaps"),
        "type": text("its native name, whatever the dialect"),
        "event": ref("Event"),
    }),
    "EventPage": record("Events in order.", {
        "events!": many(ref("LogEvent")),
        "nextAfter": count("give it as `after` to go on"),
        "more": flag("there was more than `limit`"),
    }),
    "Appended": record("An event that is durable.", {
        "runId!": identifier(""),
        "eventId!": text(),
        "runSeq!": count(),
        "persistedAt!": time(),
        "idempotent": flag("it was there before; nothing was written"),
        "payloadMismatch": flag("it was there before with another payload"),
    }),
    "AppendAnswer": record("`appended`, or why it was refused.", {
        "appended": ref("Appended"),
        "code": text(),
        "detail": text(),
        "faults": many(ref("Fault")),
    }),
    "AppendAnswers": record("One for each event, in their order. An event that is refused does not hold "
                            "up the others.", {"results!": many(ref("AppendAnswer"))}),
    "Hook": record("A hook: what waits for somebody outside.", {
        "token": text(),
        "runId!": identifier(""),
        "hookId": text(),
        "stepId": text("which step waits"),
        "planId": text(),
        "status": words(RUN_STATUS, "of the run"),
        "kind": text("`approval` or `hook`, of a plan's step"),
        "prompt": text("what the approver is asked"),
        "createdAt": time("since when it waits"),
        "until": time("then the step fails with TIMEOUT"),
    }),
}

PLANS = {
    "RegisteredPlan": record("A version of a plan. It means the same document for ever.", {
        "planId": text(),
        "planVersion": text(),
        "sha256": text("of the document", pattern=SHA256),
        "registeredAt": time(),
        "registeredBy": text(),
    }),
    "PlanList": record("Plans by id and version.", {
        "plans!": many(ref("RegisteredPlan")),
        "cursor": text("of the next page; not there: no more"),
    }),
    "PlanWarning": record("What is allowed but probably not meant.", {
        "code": text(), "pointer": text(), "message!": text(), "line": count(), "column": count(),
    }),
    "CheckedPlan": record("A plan without faults.", {
        "planId": text(),
        "planVersion": text(),
        "sha256": text("", pattern=SHA256),
        "steps": count("how many"),
        "warnings!": many(ref("PlanWarning")),
    }),
    "ArtifactRef": record("A stored piece of data, known by its content.", {
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
        "closed!": flag("nothing follows"),
    }),
    "StreamList": record("", {"streams!": many(ref("Stream"))}),
    "ChunkPage": record("", {
        "chunks!": many(record("", {"index!": count("from 0"), "data!": text("Base64")})),
        "count!": count("chunks of the stream"),
        "closed!": flag("nothing follows the last of them"),
    }),
    "Message": record("What the queue delivers to an application.", {
        "messageId!": text(),
        "topic!": text(),
        "group": text("the run it is about"),
        "key": text("a second message with it is this one"),
        "state!": words("WAITING DELIVERING DEAD"),
        "attempt!": count("the next, or the one under way"),
        "sentAt!": time(),
        "dueAt!": time("not before"),
        "lastError": text(),
    }),
    "MessageList": record("", {"messages!": many(ref("Message")),
                               "nextAfter": text("there may be more behind it")}),
}
WORK = {
    "Queue": record("Tasks that wait for workers.", {
        "queue!": text(),
        "waiting!": count("tasks no worker has taken"),
        "held!": count("tasks that workers hold"),
        "oldestMs": count("how long the first has waited"),
        "workers!": count("that serve it now"),
        "concurrency": count("tasks held at once; not there: no limit"),
    }),
    "QueueList": record("", {"queues!": many(ref("Queue"))}),
    "QueueLimit": asked("", {"concurrency!": count("tasks held at once; 0: no limit",
                                                   maximum=UINT32_MAX)}),
    "QueueLimitSet": record("", {"concurrency!": count("tasks held at once; 0: no limit")}),
    "NewWorker": asked("A process that does tasks.", {
        "name": text("for people", maxLength=200),
        "kinds!": many(text("", pattern="^[A-Za-z][A-Za-z0-9._-]*$", maxLength=100),
                       "what it can do; not the kinds of the server's own tools", minItems=1,
                       maxItems=1000),
        "queues": many(text("", minLength=1, maxLength=200),
                       "which it serves; without: those of its kinds"),
        "slots": whole("tasks at once", minimum=1, maximum=10000, default=1),
    }),
    "NewWorkerAnswer": record("", {
        "workerId!": text(),
        "leaseMs": count("how long a task is lent without a heartbeat"),
    }),
    "Worker": record("A worker that has called lately.", {
        "workerId!": text(),
        "name": text(),
        "kinds!": many(text()),
        "queues": many(text()),
        "slots!": count(),
        "held!": count("tasks it holds"),
        "draining": flag(),
        "seenAt": time(),
    }),
    "WorkerList": record("", {"workers!": many(ref("Worker"))}),
    "ReportError": asked("Why a task failed.", {
        "code!": text(),
        "message": text(),
        "retryable": flag("try again, if the step's policy allows"),
        "category": text("USER, SYSTEM, PLATFORM or TIMEOUT"),
        "details": anything("any JSON"),
        "retryAfterMs": duration_ms("the earliest next try"),
    }),
    "Report": asked("How a task ended: with `error`, or well.", {
        "token!": text("of the task"),
        "result": anything("any JSON; the step's result"),
        "artifacts": many({"type": "object"}, "list of ArtifactRef"),
        "error": ref("ReportError"),
    }),
    "Poll": asked("Reports, signs of life and the wish for more, in one round trip.", {
        "reports": many(ref("Report"), "", maxItems=1000),
        "heartbeats": many(text(), "tokens of tasks that still run", maxItems=1000),
        "max": count("tasks wanted; 0: none", maximum=UINT32_MAX),
        "waitMs": duration_ms("how long to wait for the first task; at most a minute"),
    }),
    "Task": record("A task that is lent. Its token names this lease and no other.", {
        "token!": text(),
        "runId!": text(),
        "stepId!": text(),
        "kind!": text(),
        "queue": text(),
        "logicalAttempt": count("counts retries"),
        "engineAttempt": count("counts deliveries of one attempt"),
        "idempotencyKey": text("the same for every delivery of one attempt: hand it to what you call"),
        "inputs": anything("of the step, secrets in place"),
        "timeoutMs": count(),
        "traceparent": text("of who started the run"),
        "tracestate": text("likewise"),
        "projectId": text(),
        "environmentId": text(),
    }),
    "RefusedReport": record("A report that came too late.", {
        "token!": text(), "code!": text(), "detail": text(),
    }),
    "PollAnswer": record("", {
        "tasks!": many(ref("Task")),
        "refused": many(ref("RefusedReport")),
        "stop": many(text(), "tokens whose work is not wanted any more"),
        "leaseMs": count("how long tasks are lent without a heartbeat"),
    }),
    "Nothing": {"type": "object", "description": "An empty object.", "maxProperties": 0},
}

ADMIN = {
    "Alert": record("Something an operator should know.", {
        "at!": time(), "code!": text(), "severity": text("P1, P2 or P3"), "runId": text(),
        "tenantId": text("whose it is; missing: of the engine"), "detail": text(),
    }),
    "AlertList": record("The alerts of this process, newest first, at most 1,000.",
                        {"alerts!": many(ref("Alert"))}),
    "AuditEntry": record("What somebody did or was refused. Each entry seals the one before.", {
        "seq!": count(), "at!": time(), "actor": text(), "tokenId": text(), "tenantId": text(),
        "action": text("an operation id, or `server.start`, `audit.cut` …"), "method": text(),
        "path": text(), "runId": text(), "status": whole("of the answer"), "code": text("of a refusal"),
        "sourceIp": text(), "requestId": text("the trace id"), "detail": text(),
        "leftOut": count("refused calls of nobody known that were not recorded before this entry"),
        "prev!": text("hash of the entry before"), "hash!": text(),
    }),
    "AuditPage": record("", {
        "entries!": many(ref("AuditEntry")), "nextAfter": count("give it as `after` to go on"),
        "more": flag(),
    }),
    "NewToken": asked("A token gets no more than its maker's own roles and tenant allow.", {
        "name!": text("for people"),
        "tenantId": text("without: the caller's own"),
        "roles!": many(words(ROLES), "", minItems=1),
        "expiresAt": time(),
    }),
    "Token": record("An API token. `token`, the secret, is in the answer to its making alone.", {
        "tokenId": text(), "name": text(), "tenantId": text(), "roles": many(words(ROLES)),
        "createdAt": time(), "expiresAt": time(), "lastUsedAt": time("to the minute"),
        "rotatedAt": time(), "revokedAt": time(), "token": text("send it as `Authorization: Bearer`"),
    }),
    "TokenList": record("", {"tokens!": many(ref("Token"))}),
    "Rotation": asked("", {"graceMs": duration_ms("how long the old secret stays valid (default 60000)")}),
}

BUS = {
    "SinkDefinition": asked("A sink; docs/sinks.md says what each member does.", {
        "sinkId": text("the same as in the path"),
        "kind!": words("webhook nats file"),
        "from": words("now beginning", "where a new sink starts (default now)"),
        "webhook": asked("of kind webhook", {
            "url!": text("http or https; redirects are not followed"),
            "secrets!": many(text("`secret:KEY`: a secret of the server"), "all of them sign", minItems=1,
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
        "dialect": words("native contract devkit noetl elephant", "of the documents (default native)"),
        "cloudEvents": words("structured binary batch", "wraps them; without: the document alone"),
        "topic": text("with {type} {tenant} {project} {environment} {plan} {run}"),
        "filter": asked("which events; what is left out does not choose", {
            "tenants": many(text(), "only in the server's settings"),
            "plans": many(text()),
            "entities": many(text("run, step, hook …")),
            "types": many(text("native names")),
            "when": text("an expression over `event`, the native document"),
        }),
        "redact": many(text("a pointer such as /payload/card; * is every member")),
        "payloadBytes": count("a larger payload becomes an artifact (default 262144)"),
        "delivery": asked("", {
            "attempts": count("then an event is a dead letter (default 12)"),
            "backoffInitialMs": count("default 500"),
            "backoffMaxMs": count("default 300000"),
            "laterEvents": words("hold pass", "of a run with a dead letter (default hold)"),
            "batch": count("events (default 100, of NATS and files 500)"),
            "batchBytes": count("default 1 MiB"),
            "inFlight": count("batches at once (default 4)"),
            "deadLetters": count("with more the sink stops (default 100000)"),
        }),
    }),
    "Sink": record("A sink and how it does.", {
        "sinkId!": text(), "ofServer": flag("it stands in the server's settings"),
        "state!": words("ACTIVE FAILING STALLED PAUSED DISABLED"),
        "position!": count("in the outbox: all up to here is settled"),
        "lag!": count("changes in the outbox behind it"), "ageMs!": count("of the oldest of them"),
        "delivered!": count("events, since it was started"), "failures!": count("batches that failed"),
        "waiting!": count("events in memory"), "inFlight!": count("batches"),
        "deadLetters!": count(), "replaying!": count("dead letters still to be sent again"),
        "lastFailure": text(), "definition!": {"type": "object", "description": "as it was put"},
    }),
    "SinkList": record("", {"sinks!": many(ref("Sink"))}),
    "SinkMessage": record("What is sent for an event.", {
        "id!": text("the same whenever it is sent"), "topic": text(), "contentType": text(),
        "body": anything("the document"),
    }),
    "DeadLetter": record("An event that a sink did not take, or has not had yet.", {
        "letterId!": text(), "runId!": text(), "runSeq!": count(), "eventType": text(),
        "persistedAt": time(), "diedAt": time(),
        "attempts": count("not there: held behind an earlier one of its run"), "reason": text(),
        "fault": text("why it cannot be sent"), "messages": many(ref("SinkMessage")),
    }),
    "DeadLetterPage": record("", {"deadLetters!": many(ref("DeadLetter")), "cursor": text()}),
    "PendingList": record("", {"events!": many(ref("DeadLetter"))}),
    "LetterOrder": asked("Which dead letters; what is left out does not choose.", {
        "ids": many(text(), "", maxItems=1000), "runId": text(), "eventType": text(),
        "reason": text("part of it"), "perSecond": {"type": "number", "minimum": 0},
        "dryRun": flag("only say how many"),
    }),
    "LetterCount": record("", {"deadLetters!": count(), "dryRun!": flag()}),
    "InboundRule": asked("What an event that comes in leads to: one of start and deliver.", {
        "ruleId": text("the same as in the path"),
        "types!": many(text("of the event; `com.acme.*`: all that begin so"), "", minItems=1),
        "sources": many(text()), "when": text("an expression over `event`"),
        "start": asked("starts a run of a registered plan", {
            "planId!": text(), "planVersion": text("without: the newest"), "projectId": text(),
            "environmentId": text(), "inputs": anything("templates over `event`"),
        }),
        "deliver": asked("completes a hook", {
            "token!": text("a template"), "payload": anything("templates; without: the event's data"),
        }),
    }),
    "InboundRuleList": record("", {"rules!": many(ref("InboundRule"))}),
    "InboundMatch": record("A rule that was for the event.", {
        "ruleId!": text(), "runId": text("that was started or went on"),
        "duplicate": flag("the event had come before"), "code": text("of an error"), "detail": text(),
    }),
    "InboundAnswer": record("In the order of the events.", {"results!": many(record("", {
        "eventId!": text(), "matches!": many(ref("InboundMatch"))}))}),
}

SCHEMAS = {**ERRORS, **RUNS, **EVENTS, **STREAMS, **PLANS, **WORK, **BUS, **ADMIN}
