"""A task as its handler sees it, and the reports of its outcome."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from typing import Any, Callable, Dict, Mapping, Optional

from .calls import is_json
from .errors import TaskCancelled, TaskFailed

# Limit for the text of a failure, which goes into the log.
_MESSAGE_CHARACTERS_MAX = 4096
_TRACE_CHARACTERS_MAX = 8192
# Heartbeats are throttled: a handler may call heartbeat() in a tight loop.
_BEAT_EVERY = 0.25


class TaskContext:
    """The task of a handler. Each call is one delivery of a logical attempt. If a worker or the
    server was lost, the same logical attempt is delivered again: `engine_attempt` grows, and
    `idempotency_key` stays the same. Pass the key on to operations that must happen only once."""

    __slots__ = (
        "run_id",
        "step_id",
        "kind",
        "queue",
        "logical_attempt",
        "engine_attempt",
        "idempotency_key",
        "timeout",
        "project_id",
        "environment_id",
        "token",
        "_cancelled",
        "_beat",
        "_beaten_at",
    )

    def __init__(self, task: Mapping[str, Any], beat: Callable[[str], None]) -> None:
        get = task.get
        self.run_id: str = task["runId"]
        self.step_id: str = task["stepId"]
        self.kind: str = task["kind"]
        self.queue: str = get("queue", "")
        self.logical_attempt: int = get("logicalAttempt", 1)
        self.engine_attempt: int = get("engineAttempt", 1)
        self.idempotency_key: str = get("idempotencyKey", "")
        milliseconds = get("timeoutMs", 0)
        # Of the attempt, in seconds. The server enforces it too, and stops the work when it is
        # over.
        self.timeout: Optional[float] = milliseconds / 1000.0 if milliseconds else None
        self.project_id: str = get("projectId", "")
        self.environment_id: str = get("environmentId", "")
        self.token: str = task["token"]
        self._beat = beat
        self._beaten_at = 0.0

    def heartbeat(self) -> bool:
        """Tells the server that the handler is alive, for steps with a `heartbeatTimeout` (leases
        are kept without it). Returns false if the work is no longer wanted. Never blocks."""
        now = time.monotonic()
        if now - self._beaten_at >= _BEAT_EVERY:
            self._beaten_at = now
            self._beat(self.token)
        return not self.is_cancelled

    @property
    def is_cancelled(self) -> bool:
        raise NotImplementedError

    def cancel(self) -> None:
        raise NotImplementedError


class ThreadTaskContext(TaskContext):
    __slots__ = ()

    def __init__(self, task: Mapping[str, Any], beat: Callable[[str], None]) -> None:
        super().__init__(task, beat)
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> threading.Event:
        """Set when the work is no longer wanted: the run was cancelled, the attempt timed out, or
        the lease was lost. Stop soon; raise TaskCancelled, or return a partial result."""
        return self._cancelled

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()


class AsyncTaskContext(TaskContext):
    __slots__ = ("_is_cancelled", "_grace", "_task")

    def __init__(self, task: Mapping[str, Any], beat: Callable[[str], None], grace: float) -> None:
        super().__init__(task, beat)
        self._is_cancelled = False
        self._cancelled: Optional[asyncio.Event] = None  # created on first use
        self._grace = grace
        self._task: Optional[asyncio.Future[None]] = None

    @property
    def cancelled(self) -> asyncio.Event:
        """Set when the work is no longer wanted: the run was cancelled, the attempt timed out, or
        the lease was lost. A handler that has not ended after the worker's `cancel_grace` gets
        asyncio.CancelledError."""
        if self._cancelled is None:
            self._cancelled = asyncio.Event()
            if self._is_cancelled:
                self._cancelled.set()
        return self._cancelled

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        if self._is_cancelled:
            return
        self._is_cancelled = True
        if self._cancelled is not None:
            self._cancelled.set()
        if self._task is not None:
            asyncio.get_running_loop().call_later(self._grace, self._task.cancel)

    def runs_as(self, task: asyncio.Future[None]) -> None:
        self._task = task


Report = Dict[str, Any]


def text_of(value: object) -> str:
    """Returns a handler's value as readable text. Never raises."""
    try:
        text = str(value)
    except BaseException as error:
        text = f"a {type(value).__name__} that cannot be shown: {type(error).__name__}"
    return _utf8(text[:_MESSAGE_CHARACTERS_MAX])


def _utf8(text: str) -> str:
    """Escapes lone surrogates, which file names may contain: they are not valid UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def failure(token: str, code: str, message: str, retryable: bool = False) -> Report:
    error: Dict[str, Any] = {"code": code, "message": message}
    if retryable:
        error["retryable"] = True
    return {"token": token, "error": error}


def success(token: str, result: Any) -> Report:
    return {"token": token} if result is None else {"token": token, "result": result}


def failure_of(context: TaskContext, raised: BaseException) -> Report:
    """Returns the report of a handler that did not return normally. Never raises: a task without a
    report would be held for as long as the worker lives."""
    try:
        if isinstance(raised, TaskFailed):
            return _said(context.token, raised)
        stopped = isinstance(raised, asyncio.CancelledError) and context.is_cancelled
        if stopped or isinstance(raised, TaskCancelled):
            text = text_of(raised) or "the handler was stopped"
            report = failure(context.token, "CANCELLED", text)
            report["error"]["category"] = "USER"
            return report
        report = failure(context.token, type(raised).__name__, text_of(raised), retryable=True)
        lines = traceback.format_exception(type(raised), raised, raised.__traceback__)
        trace = _utf8("".join(lines)[-_TRACE_CHARACTERS_MAX:])
        report["error"]["details"] = {"traceback": trace}
        return report
    except BaseException as error:  # for instance, a TaskFailed that did not call its base class
        text = f"cannot print the handler's exception: {text_of(error)}"
        return failure(context.token, type(raised).__name__, text, retryable=True)


def _said(token: str, said: TaskFailed) -> Report:
    message = "" if said.message is None else text_of(said.message)
    report = failure(token, text_of(said.code), message, bool(said.retryable))
    error = report["error"]
    if said.category:
        error["category"] = text_of(said.category)
    if said.details is not None:
        error["details"] = said.details if is_json(said.details) else text_of(said.details)
    if said.retry_after is not None:
        try:
            error["retryAfterMs"] = max(0, int(float(said.retry_after) * 1000))
        except (TypeError, ValueError, OverflowError):
            pass  # the plan decides when to retry
    return report
