"""Workers and the queues they serve."""

from runs import AT, JSON
from shapes import Example, Operation, ref, text

WORKER = "b4c1e0a2f6d84e1f9a3b5c7d9e0f1a2b"
TASK = "7d1c0b9e8f6a4d3c2b1a0f9e8d7c6b5a"

OPERATIONS = [
    Operation(
        "GET", "/v1/queues", "listQueues", "Workers", "queue.read", "List queues",
        "Returns the queues that have tasks, workers or a limit.",
        [Example("queues", "all of them", 200, {"queues": [
            {"queue": "documents", "waiting": 1, "held": 0, "oldestMs": 250, "workers": 1,
             "concurrency": 4}]})],
        answers={"200": ("The queues.", {JSON: ref("QueueList")}, ())}),
    Operation(
        "PUT", "/v1/queues/{queue}", "setQueue", "Workers", "queue.write", "Limit a queue",
        "Sets how many of its tasks all workers together may hold at once.",
        [Example("limit", "four at once", 200, {"concurrency": 4}, queue="documents",
                 body={"concurrency": 4})],
        body={JSON: ref("QueueLimit")}, answers={"200": ("Set.", {JSON: ref("QueueLimitSet")}, ())}),
    Operation(
        "GET", "/v1/workers", "listWorkers", "Workers", "run.read", "List workers",
        "Returns the workers that have called recently.",
        [Example("workers", "all of them", 200, {"workers": [
            {"workerId": WORKER, "name": "renderer-1", "kinds": ["invoice.render"],
             "queues": ["documents"], "slots": 8, "held": 0, "seenAt": AT}]})],
        answers={"200": ("The workers.", {JSON: ref("WorkerList")}, ())}),
    Operation(
        "POST", "/v1/workers", "registerWorker", "Workers", "work.do", "Register a worker",
        "Declares what a process can execute. A worker that has not called for a minute and a half is forgotten "
        "and has to register again.",
        [Example("register", "for one kind", 201, {"workerId": WORKER, "leaseMs": 30000},
                 body={"name": "renderer-1", "kinds": ["invoice.render"], "queues": ["documents"],
                       "slots": 8})],
        body={JSON: ref("NewWorker")}, errors=("429",),
        answers={"201": ("Registered.", {JSON: ref("NewWorkerAnswer")}, ())}),
    Operation(
        "POST", "/v1/workers/{workerId}/poll", "pollWork", "Workers", "work.do",
        "Report, and ask for tasks",
        "Accepts the reports, extends the leases named in the heartbeats, and returns tasks: at once if there "
        "are any, otherwise when the first arrives or `waitMs` is over. A report is answered once its consequences "
        "are durable. A report whose lease was lost is in `refused`: another worker has the task now.",
        [Example("take", "ask for tasks", 200, {"tasks": [
            {"token": TASK, "runId": "invoice-7", "stepId": "render", "kind": "invoice.render",
             "queue": "documents", "logicalAttempt": 1, "engineAttempt": 1,
             "idempotencyKey": "invoice-7/render/1", "inputs": {"number": 7}, "projectId": "default",
             "environmentId": "default"}], "leaseMs": 30000},
            workerId=WORKER, body={"max": 8, "waitMs": 3000}),
         Example("alive", "keep the lease of a long task", 200, {"tasks": [], "leaseMs": 30000},
                 workerId=WORKER, body={"heartbeats": [TASK]}),
         Example("done", "report, and ask for more", 200, {"tasks": [], "leaseMs": 30000},
                 workerId=WORKER, body={"reports": [{"token": TASK, "result": {"pages": 2}}], "max": 8}),
         Example("late", "a report that is refused", 200, {
             "tasks": [], "refused": [{"token": TASK, "code": "STEP_ATTEMPT_STALE",
                                       "detail": "the lease was lost"}], "leaseMs": 30000},
             workerId=WORKER, body={"reports": [{"token": TASK, "error": {
                 "code": "PRINTER_OFF", "message": "no answer", "retryable": True,
                 "retryAfterMs": 5000}}]})],
        body={JSON: ref("Poll"), "required": False}, errors=("404",),
        answers={"200": ("Tasks, if any.", {JSON: ref("PollAnswer")}, ())}),
    Operation(
        "POST", "/v1/workers/{workerId}/drain", "drainWorker", "Workers", "work.do", "Drain a worker",
        "It gets no more tasks, but may still report those it holds.",
        [Example("drain", "before it stops", 200, {}, workerId=WORKER)],
        errors=("404",), answers={"200": ("It gets no more tasks.", {JSON: ref("Nothing")}, ())}),
    Operation(
        "DELETE", "/v1/workers/{workerId}", "removeWorker", "Workers", "work.do", "Remove a worker",
        "Its leases end at once, and its tasks are delivered to other workers.",
        [Example("remove", "when it stops", 204, workerId=WORKER)],
        errors=("404",), answers={"204": ("Removed.", {}, ())}),
]
PARAMETERS = {
    "queue": ("the queue", text(minLength=1, maxLength=200)),
    "workerId": ("the id returned by its registration", text()),
}
