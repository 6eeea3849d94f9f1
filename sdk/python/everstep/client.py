"""The thread-safe client."""

from __future__ import annotations

import hashlib
import ssl
import time
from types import TracebackType
from typing import Any, BinaryIO, Dict, Iterator, List, Mapping, Optional, Type, TypeVar, Union

from . import calls, views
from .calls import Call
from .endpoint import Backoff, Endpoint
from .errors import EverstepError, RunFailed, TransportError
from .follow import SILENCE_MAX, FollowState
from .sync_http import Connections

T = TypeVar("T")
Plan = Union[str, Mapping[str, Any]]

# The server answers a waiting request after at most a minute.
_WAIT_MAX = 30.0


class Client:
    """A connection to an Everstep server. Can be shared by any number of threads.

    Calls without an answer, and calls that the server asks to retry, are repeated for up to
    `retry_for` seconds; an Idempotency-Key ensures that they are executed once.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
        timeout: float = 30.0,
        retry_for: float = 30.0,
    ) -> None:
        self._connections = Connections(Endpoint(url, token, tls), timeout)
        self._retry_for = retry_for

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _do(self, call: Call[T]) -> T:
        answer = self._connections.request_until_answered(
            call.method, call.path, call.headers, call.body, call.wait, self._retry_for
        )
        return call.decode(answer)

    # ---- runs

    def start(
        self,
        plan: Optional[Plan] = None,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        plan_id: Optional[str] = None,
        plan_version: Optional[str] = None,
        plan_ref: Optional[views.PlanRef] = None,
        run_id: Optional[str] = None,
        request_id: Optional[str] = None,
        project_id: Optional[str] = None,
        environment_id: Optional[str] = None,
        priority: Optional[int] = None,
        start_at: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Starts a run of a document (text or mapping), a registered plan, or a reference.
        Repeating a `run_id`, `request_id` or `idempotency_key` returns the existing run."""
        call = calls.start(
            plan,
            plan_id,
            plan_ref,
            inputs,
            plan_version=plan_version,
            run_id=run_id,
            request_id=request_id,
            project_id=project_id,
            environment_id=environment_id,
            priority=priority,
            start_at=start_at,
            idempotency_key=idempotency_key,
        )
        started = self._do(call)
        return Run(self, started.run_id, started)

    def run(self, run_id: str) -> Run:
        """Returns a handle of an existing run, without a request to the server."""
        return Run(self, run_id)

    def get(self, run_id: str) -> views.RunView:
        return self._do(calls.get_run(run_id))

    def wait(self, run_id: str, timeout: Optional[float] = None) -> views.RunView:
        """Waits until the run has ended and returns it. Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _WAIT_MAX if until is None else min(_WAIT_MAX, until - time.monotonic())
            view = self._do(calls.get_run(run_id, max(left, 0.0)))
            if view.ended:
                return view
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"the run {run_id} is {view.status} after {timeout:g} s")

    def list(
        self,
        *,
        status: Optional[str] = None,
        plan_id: Optional[str] = None,
        project_id: Optional[str] = None,
        environment_id: Optional[str] = None,
        plan_version: Optional[str] = None,
        run_id_prefix: Optional[str] = None,
        error_code: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[views.RunSummary]:
        """Yields runs, newest first, page by page; `limit` is the page size."""
        cursor = ""
        while True:
            page = self._do(
                calls.list_runs(
                    status,
                    plan_id,
                    project_id,
                    environment_id,
                    plan_version,
                    run_id_prefix,
                    error_code,
                    cursor,
                    limit,
                )
            )
            yield from page.runs
            cursor = page.cursor
            if not cursor:
                return

    def why(self, run_id: str) -> views.Explanation:
        """Returns what the run waits for."""
        return self._do(calls.why(run_id))

    # ---- events

    def events(
        self,
        run_id: str,
        *,
        after: int = 0,
        dialect: Optional[str] = None,
        type: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[views.Event]:
        """Yields the current log of a run, page by page."""
        while True:
            page = self._do(calls.events(run_id, after, limit, dialect, type))
            yield from page.events
            if not page.more:
                return
            after = page.next_after

    def follow(
        self,
        run_id: Optional[str] = None,
        *,
        after: int = 0,
        dialect: Optional[str] = None,
        type: Optional[str] = None,
    ) -> Iterator[views.Event]:
        """Yields the events of a run as they happen, until it has ended. Without `run_id`, yields
        those of all runs, from now on or after `after`, without end. A broken connection is
        replaced, and the stream continues after the last event."""
        state = FollowState(after)
        backoff = Backoff(self._retry_for)
        while True:
            path = calls.follow_path(run_id, after, dialect, type)
            answered = False
            try:
                for line in self._connections.lines(path, state.headers(), SILENCE_MAX):
                    answered = True
                    event = state.feed(line)
                    if event is not None:
                        yield event
                if run_id is not None and state.is_over(self.get(run_id)):
                    return
                raise TransportError("the stream has ended")
            except EverstepError as error:
                if answered:
                    backoff = Backoff(self._retry_for)
                delay = backoff.delay(error)
                if delay is None:
                    raise
            time.sleep(delay)

    # ---- orders

    def signal(
        self,
        run_id: str,
        type: str,
        payload: Any = None,
        *,
        reason: Optional[str] = None,
        signal_id: Optional[str] = None,
        approved_by: Optional[str] = None,
    ) -> views.SignalDecision:
        return self._do(calls.signal(run_id, type, payload, reason, signal_id, approved_by))

    def cancel(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return self._do(calls.cancel(run_id, reason))

    def pause(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return self.signal(run_id, "PAUSE", reason=reason)

    def resume(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return self.signal(run_id, "RESUME", reason=reason)

    def approve(self, run_id: str, reason: Optional[str] = None) -> views.RunView:
        """Approves the start of a run whose plan has `requiresApproval`."""
        return self._do(calls.approve(run_id, reason))

    # ---- hooks

    def deliver(
        self, token: str, payload: Any = None, *, delivery_id: Optional[str] = None
    ) -> views.Hook:
        """Delivers the payload of a hook that a step waits for; an approval takes
        `{"approved": True}`."""
        return self._do(calls.deliver(token, payload, delivery_id))

    def fail_hook(
        self,
        token: str,
        code: str,
        message: str = "",
        *,
        retryable: bool = True,
        delivery_id: Optional[str] = None,
    ) -> views.Hook:
        """Fails the attempt of the step that waits for the hook; its retry policy applies."""
        return self._do(calls.fail_hook(token, code, message, retryable, delivery_id))

    def heartbeat_hook(self, token: str) -> views.Hook:
        """Says that the answer to a hook will follow, for steps with a `heartbeatTimeout`."""
        return self._do(calls.heartbeat_hook(token))

    def hook(self, token: str) -> views.Hook:
        return self._do(calls.get_hook(token))

    # ---- plans

    def register_plan(self, plan: Plan) -> views.RegisteredPlan:
        return self._do(calls.register_plan(plan))

    def check_plan(self, plan: Plan) -> views.CheckedPlan:
        return self._do(calls.check_plan(plan))

    def plans(
        self, plan_id: Optional[str] = None, *, limit: Optional[int] = None
    ) -> Iterator[views.RegisteredPlan]:
        cursor = ""
        while True:
            page = self._do(calls.list_plans(plan_id, cursor, limit))
            yield from page.plans
            cursor = page.cursor
            if not cursor:
                return

    def plan(self, plan_id: str, plan_version: str) -> str:
        """Returns the document as registered."""
        return self._do(calls.get_plan(plan_id, plan_version))

    # ---- artifacts

    def put_artifact(
        self,
        data: bytes,
        *,
        content_type: str = "application/octet-stream",
        name: Optional[str] = None,
    ) -> views.Artifact:
        return self._do(calls.put_artifact(data, content_type, name))

    def save_artifact(
        self, artifact: Union[str, views.Artifact], file: BinaryIO, run_id: Optional[str] = None
    ) -> int:
        """Streams an artifact (given by its digest or URI) into a file and returns its size.
        `run_id`: the run that created it, unless it was uploaded. Raises EverstepError with
        ARTIFACT_DAMAGED if the received data has a different digest."""
        path = calls.artifact_path(artifact)
        digest, size = hashlib.sha256(), 0
        for piece in self._connections.pieces(path + calls.of_run(run_id)):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        if digest.hexdigest() != path.rpartition("/")[2]:
            raise EverstepError("ARTIFACT_DAMAGED", f"{path} has the digest {digest.hexdigest()}")
        return size

    # ---- workers

    def queues(self) -> List[Dict[str, Any]]:
        return self._do(calls.queues())

    def set_queue_concurrency(self, queue: str, concurrency: int) -> None:
        """Sets how many tasks of a queue are leased at once; zero: no limit."""
        self._do(calls.set_queue(queue, concurrency))

    def workers(self) -> List[Dict[str, Any]]:
        return self._do(calls.workers())


class Run:
    """A run, with the client to access it."""

    def __init__(
        self, client: Client, run_id: str, started: Optional[views.StartedRun] = None
    ) -> None:
        self.client = client
        self.id = run_id
        self.started = started  # the server's answer, if this handle was returned by start()

    def __repr__(self) -> str:
        return f"Run({self.id!r})"

    def get(self) -> views.RunView:
        return self.client.get(self.id)

    def wait(self, timeout: Optional[float] = None) -> views.RunView:
        return self.client.wait(self.id, timeout)

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the end and returns the plan's `outputs`. Raises RunFailed, TimeoutError."""
        view = self.wait(timeout)
        if view.status != "COMPLETED":
            raise RunFailed(self.id, view.status, view.error_code, view.error_message)
        return view.result

    def why(self) -> views.Explanation:
        return self.client.why(self.id)

    def events(
        self, *, after: int = 0, dialect: Optional[str] = None, type: Optional[str] = None
    ) -> Iterator[views.Event]:
        return self.client.events(self.id, after=after, dialect=dialect, type=type)

    def follow(
        self, *, after: int = 0, dialect: Optional[str] = None, type: Optional[str] = None
    ) -> Iterator[views.Event]:
        return self.client.follow(self.id, after=after, dialect=dialect, type=type)

    def signal(
        self, type: str, payload: Any = None, *, reason: Optional[str] = None
    ) -> views.SignalDecision:
        return self.client.signal(self.id, type, payload, reason=reason)

    def cancel(self, reason: Optional[str] = None) -> views.SignalDecision:
        return self.client.cancel(self.id, reason)

    def pause(self, reason: Optional[str] = None) -> views.SignalDecision:
        return self.client.pause(self.id, reason)

    def resume(self, reason: Optional[str] = None) -> views.SignalDecision:
        return self.client.resume(self.id, reason)

    def approve(self, reason: Optional[str] = None) -> views.RunView:
        return self.client.approve(self.id, reason)
