"""The client for asyncio."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from types import TracebackType
from typing import Any, AsyncIterator, BinaryIO, Dict, List, Mapping, Optional, Type, TypeVar, Union

from . import calls, views
from .async_http import AsyncConnections
from .calls import Call
from .endpoint import Backoff, Endpoint
from .errors import EverstepError, RunFailed, TransportError
from .follow import SILENCE_MAX, FollowState

T = TypeVar("T")
Plan = Union[str, Mapping[str, Any]]

# The server answers a waiting request after at most a minute.
_WAIT_MAX = 30.0


class AsyncClient:
    """A connection to an Everstep server. Can be shared by any number of tasks of one event loop.

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
        self._connections = AsyncConnections(Endpoint(url, token, tls), timeout)
        self._retry_for = retry_for

    def close(self) -> None:
        self._connections.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    async def _do(self, call: Call[T]) -> T:
        answer = await self._connections.request_until_answered(
            call.method, call.path, call.headers, call.body, call.wait, self._retry_for
        )
        return call.decode(answer)

    # ---- runs

    async def start(
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
    ) -> AsyncRun:
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
        started = await self._do(call)
        return AsyncRun(self, started.run_id, started)

    def run(self, run_id: str) -> AsyncRun:
        """Returns a handle of an existing run, without a request to the server."""
        return AsyncRun(self, run_id)

    async def get(self, run_id: str) -> views.RunView:
        return await self._do(calls.get_run(run_id))

    async def wait(self, run_id: str, timeout: Optional[float] = None) -> views.RunView:
        """Waits until the run has ended and returns it. Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _WAIT_MAX if until is None else min(_WAIT_MAX, until - time.monotonic())
            view = await self._do(calls.get_run(run_id, max(left, 0.0)))
            if view.ended:
                return view
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"the run {run_id} is {view.status} after {timeout:g} s")

    async def list(
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
    ) -> AsyncIterator[views.RunSummary]:
        """Yields runs, newest first, page by page; `limit` is the page size."""
        cursor = ""
        while True:
            page = await self._do(
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
            for run in page.runs:
                yield run
            cursor = page.cursor
            if not cursor:
                return

    async def why(self, run_id: str) -> views.Explanation:
        """Returns what the run waits for."""
        return await self._do(calls.why(run_id))

    # ---- events

    async def events(
        self,
        run_id: str,
        *,
        after: int = 0,
        dialect: Optional[str] = None,
        type: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> AsyncIterator[views.Event]:
        """Yields the current log of a run, page by page."""
        while True:
            page = await self._do(calls.events(run_id, after, limit, dialect, type))
            for event in page.events:
                yield event
            if not page.more:
                return
            after = page.next_after

    async def follow(
        self,
        run_id: Optional[str] = None,
        *,
        after: int = 0,
        dialect: Optional[str] = None,
        type: Optional[str] = None,
    ) -> AsyncIterator[views.Event]:
        """Yields the events of a run as they happen, until it has ended. Without `run_id`, yields
        those of all runs, from now on or after `after`, without end. A broken connection is
        replaced, and the stream continues after the last event."""
        state = FollowState(after)
        backoff = Backoff(self._retry_for)
        while True:
            path = calls.follow_path(run_id, after, dialect, type)
            answered = False
            try:
                async for line in self._connections.lines(path, state.headers(), SILENCE_MAX):
                    answered = True
                    event = state.feed(line)
                    if event is not None:
                        yield event
                if run_id is not None and state.is_over(await self.get(run_id)):
                    return
                raise TransportError("the stream has ended")
            except EverstepError as error:
                if answered:
                    backoff = Backoff(self._retry_for)
                delay = backoff.delay(error)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    # ---- orders

    async def signal(
        self,
        run_id: str,
        type: str,
        payload: Any = None,
        *,
        reason: Optional[str] = None,
        signal_id: Optional[str] = None,
        approved_by: Optional[str] = None,
    ) -> views.SignalDecision:
        return await self._do(calls.signal(run_id, type, payload, reason, signal_id, approved_by))

    async def cancel(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return await self._do(calls.cancel(run_id, reason))

    async def pause(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return await self.signal(run_id, "PAUSE", reason=reason)

    async def resume(self, run_id: str, reason: Optional[str] = None) -> views.SignalDecision:
        return await self.signal(run_id, "RESUME", reason=reason)

    async def approve(self, run_id: str, reason: Optional[str] = None) -> views.RunView:
        """Approves the start of a run whose plan has `requiresApproval`."""
        return await self._do(calls.approve(run_id, reason))

    # ---- hooks

    async def deliver(
        self, token: str, payload: Any = None, *, delivery_id: Optional[str] = None
    ) -> views.Hook:
        """Delivers the payload of a hook that a step waits for; an approval takes
        `{"approved": True}`."""
        return await self._do(calls.deliver(token, payload, delivery_id))

    async def fail_hook(
        self,
        token: str,
        code: str,
        message: str = "",
        *,
        retryable: bool = True,
        delivery_id: Optional[str] = None,
    ) -> views.Hook:
        """Fails the attempt of the step that waits for the hook; its retry policy applies."""
        return await self._do(calls.fail_hook(token, code, message, retryable, delivery_id))

    async def heartbeat_hook(self, token: str) -> views.Hook:
        """Says that the answer to a hook will follow, for steps with a `heartbeatTimeout`."""
        return await self._do(calls.heartbeat_hook(token))

    async def hook(self, token: str) -> views.Hook:
        return await self._do(calls.get_hook(token))

    # ---- plans

    async def register_plan(self, plan: Plan) -> views.RegisteredPlan:
        return await self._do(calls.register_plan(plan))

    async def check_plan(self, plan: Plan) -> views.CheckedPlan:
        return await self._do(calls.check_plan(plan))

    async def plans(
        self, plan_id: Optional[str] = None, *, limit: Optional[int] = None
    ) -> AsyncIterator[views.RegisteredPlan]:
        cursor = ""
        while True:
            page = await self._do(calls.list_plans(plan_id, cursor, limit))
            for plan in page.plans:
                yield plan
            cursor = page.cursor
            if not cursor:
                return

    async def plan(self, plan_id: str, plan_version: str) -> str:
        """Returns the document as registered."""
        return await self._do(calls.get_plan(plan_id, plan_version))

    # ---- artifacts

    async def put_artifact(
        self,
        data: bytes,
        *,
        content_type: str = "application/octet-stream",
        name: Optional[str] = None,
    ) -> views.Artifact:
        return await self._do(calls.put_artifact(data, content_type, name))

    async def save_artifact(
        self, artifact: Union[str, views.Artifact], file: BinaryIO, run_id: Optional[str] = None
    ) -> int:
        """Streams an artifact (given by its digest or URI) into a file and returns its size.
        `run_id`: the run that created it, unless it was uploaded. Raises EverstepError with
        ARTIFACT_DAMAGED if the received data has a different digest."""
        path = calls.artifact_path(artifact)
        digest, size = hashlib.sha256(), 0
        async for piece in self._connections.pieces(path + calls.of_run(run_id)):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        if digest.hexdigest() != path.rpartition("/")[2]:
            raise EverstepError("ARTIFACT_DAMAGED", f"{path} has the digest {digest.hexdigest()}")
        return size

    # ---- workers

    async def queues(self) -> List[Dict[str, Any]]:
        return await self._do(calls.queues())

    async def set_queue_concurrency(self, queue: str, concurrency: int) -> None:
        """Sets how many tasks of a queue are leased at once; zero: no limit."""
        await self._do(calls.set_queue(queue, concurrency))

    async def workers(self) -> List[Dict[str, Any]]:
        return await self._do(calls.workers())


class AsyncRun:
    """A run, with the client to access it."""

    def __init__(
        self, client: AsyncClient, run_id: str, started: Optional[views.StartedRun] = None
    ) -> None:
        self.client = client
        self.id = run_id
        self.started = started  # the server's answer, if this handle was returned by start()

    def __repr__(self) -> str:
        return f"AsyncRun({self.id!r})"

    async def get(self) -> views.RunView:
        return await self.client.get(self.id)

    async def wait(self, timeout: Optional[float] = None) -> views.RunView:
        return await self.client.wait(self.id, timeout)

    async def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the end and returns the plan's `outputs`. Raises RunFailed, TimeoutError."""
        view = await self.wait(timeout)
        if view.status != "COMPLETED":
            raise RunFailed(self.id, view.status, view.error_code, view.error_message)
        return view.result

    async def why(self) -> views.Explanation:
        return await self.client.why(self.id)

    def events(
        self, *, after: int = 0, dialect: Optional[str] = None, type: Optional[str] = None
    ) -> AsyncIterator[views.Event]:
        return self.client.events(self.id, after=after, dialect=dialect, type=type)

    def follow(
        self, *, after: int = 0, dialect: Optional[str] = None, type: Optional[str] = None
    ) -> AsyncIterator[views.Event]:
        return self.client.follow(self.id, after=after, dialect=dialect, type=type)

    async def signal(
        self, type: str, payload: Any = None, *, reason: Optional[str] = None
    ) -> views.SignalDecision:
        return await self.client.signal(self.id, type, payload, reason=reason)

    async def cancel(self, reason: Optional[str] = None) -> views.SignalDecision:
        return await self.client.cancel(self.id, reason)

    async def pause(self, reason: Optional[str] = None) -> views.SignalDecision:
        return await self.client.pause(self.id, reason)

    async def resume(self, reason: Optional[str] = None) -> views.SignalDecision:
        return await self.client.resume(self.id, reason)

    async def approve(self, reason: Optional[str] = None) -> views.RunView:
        return await self.client.approve(self.id, reason)
