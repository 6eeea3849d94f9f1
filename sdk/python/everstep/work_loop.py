"""The protocol between a worker and its server, for both kinds of workers.

It uses two connections:

- The *listener* always has a poll in flight that waits for tasks, for up to `wait` seconds. Even
  with all slots taken, it still receives cancellations at once.
- The *reporter* sends reports and heartbeats as soon as there are any, in a poll that does not
  wait. That poll asks for tasks as well, since the next step of the same run is usually ready by
  the time its report is durable: a chain of quick steps costs one round trip per step, and a batch
  of chains one for the whole batch. Reports that arrive while it is in flight accumulate, so each
  round trip carries more the busier the worker is. What is ready when the reporter is busy and the
  listener starts a poll goes with the listener.

A report therefore waits only for the previous one, the worker has tasks while the server writes its
reports, and under load a task costs far less than one round trip. A third connection would only
make the batches smaller.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from typing import Any, Callable, Coroutine, Dict, List, Mapping, Optional, Sequence

from .async_http import Connection
from .calls import encode
from .endpoint import Answer, Endpoint, is_worth_retrying
from .errors import EverstepError, TransportError, problem
from .work_book import Poll, Task, WorkBook

log = logging.getLogger("everstep.worker")

_JSON = {"Content-Type": "application/json"}
_ANSWER_TIMEOUT = 30.0
_BACKOFF_FIRST = 0.05
_BACKOFF_MAX = 3.0


class WorkLoop:
    """Registers, polls, reports and drains until it is stopped. `launch` is called with tasks that
    have a slot; it starts them and calls `book.finish`, and then `wake` unless it finished at once.
    Owned by one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        registration: Mapping[str, Any],
        book: WorkBook,
        launch: Callable[[Sequence[Task]], None],
        wait: float,
        drain_timeout: float,
    ) -> None:
        self.book = book
        self.auto_beats: Callable[[], List[str]] = lambda: list(self.book.held)
        self._registration = encode(dict(registration))
        self._launch = launch
        self._wait = wait
        self._drain_timeout = drain_timeout
        self._endpoint = endpoint
        self._listener = Connection(endpoint)
        self._reporter = Connection(endpoint)
        self._worker_id: Optional[str] = None
        self._path = ""
        self._lease = 30.0
        self._registering = asyncio.Lock()
        self._registered = asyncio.Event()
        self._wake = asyncio.Event()  # wakes the reporter
        self._stopping = asyncio.Event()
        self._fatal: Optional[Exception] = None

    async def run(self) -> None:
        """Runs until stop() was called and all held tasks are reported, or `drain_timeout` is over.
        Raises errors that a retry cannot fix: an invalid token, a refused kind."""
        lanes = [asyncio.ensure_future(self._guard(way())) for way in (self._listen, self._report)]
        ticker = asyncio.ensure_future(self._guard(self._tick()))
        try:
            await self._stopping.wait()
            if self._fatal is None:
                await self._drain(lanes[0])
                await asyncio.wait(lanes, timeout=self._drain_timeout)
            if self._worker_id is not None and self._fatal is None:
                await self._farewell()
        finally:
            for part in (ticker, *lanes):
                part.cancel()
            await asyncio.gather(ticker, *lanes, return_exceptions=True)
            self._listener.close()
            self._reporter.close()
            self._registered.set()  # nobody needs to wait for it any more
            self.book.forget_leases()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        self._stopping.set()
        self.book.waiting.clear()  # other workers get them once we have left
        self.wake()

    async def wait_registered(self) -> bool:
        """Waits for the registration. Returns false if run() ends or has ended."""
        await self._registered.wait()
        return not self._stopping.is_set()

    def wake(self) -> None:
        """Signals that there is something to send, or that a slot is free."""
        self._wake.set()

    async def _guard(self, part: Coroutine[Any, Any, None]) -> None:
        """Makes an unexpected exception end the worker instead of being lost."""
        try:
            await part
        except Exception as error:
            self._give_up(error)

    # ---- the two connections

    async def _listen(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._begin()
            wanted = self.book.tasks_max()
            if wanted <= 0:
                # The server believes that slots are free: it has ended leases of running handlers.
                await self._register()
                await asyncio.sleep(0.05)
                continue
            failures = await self._round(self._listener, wanted, self._wait, failures)
            # Let the reporter, if it is free, send what is finished by now.
            self._wake.set()
            await asyncio.sleep(0)
        self._wake.set()  # the reporter sends what is left

    async def _report(self) -> None:
        failures = 0
        while self._fatal is None:
            self._begin()
            if not self.book.owes:
                if self._stopping.is_set() and self.book.is_empty:
                    return
                self._wake.clear()
                await self._wake.wait()
                continue
            wanted = 0
            if self.book.reports and not self._stopping.is_set():
                wanted = max(0, self.book.tasks_max())
            failures = await self._round(self._reporter, wanted, 0.0, failures)

    async def _round(self, connection: Connection, wanted: int, wait: float, failures: int) -> int:
        """Does one poll and processes its answer. Returns the number of consecutive failures."""
        worker_id = self._worker_id or await self._register()
        if worker_id is None:
            return 0
        poll = self.book.next_poll(wanted, wait)
        if self.book.owes:
            self._wake.set()  # more than one poll can carry
        try:
            answer = await connection.request(
                "POST", self._path, _JSON, poll.body, wait + _ANSWER_TIMEOUT
            )
            reply = _content(answer)
        except EverstepError as error:
            return await self._failed(error, poll, worker_id, failures)
        except BaseException:
            self.book.unanswered(poll)
            raise
        self.book.answered(poll, reply.get("refused", ()), reply.get("stop", ()))
        if "leaseMs" in reply:
            self._lease = reply["leaseMs"] / 1000.0
        tasks = reply.get("tasks")
        if tasks and worker_id == self._worker_id:
            # A third of the lease, because a started task sends its first heartbeat after another
            # third.
            self.book.receive(tasks, time.monotonic() + self._lease / 3.0)
            self._begin()
            # Yield to the event loop once: handlers that do not wait finish then.
            await asyncio.sleep(0)
        return 0

    def _begin(self) -> None:
        while tasks := self.book.due(time.monotonic()):
            self._launch(tasks)

    async def _failed(self, error: EverstepError, poll: Poll, worker_id: str, failures: int) -> int:
        if error.code == "WORKER_NOT_FOUND":
            self.book.drop(poll)
            if self._worker_id == worker_id:
                log.info("the server does not know this worker any more; registering again")
                self._worker_id = None
                self.book.forget_leases()
            return 0
        if is_worth_retrying(error) or error.status >= 500:
            self.book.unanswered(poll)
            self._wake.set()
            await self._pause(error, failures)
            return failures + 1
        if error.status in (401, 403):
            self.book.unanswered(poll)
            self._give_up(error)
            return 0
        self.book.refused(poll, error.code, error.detail)
        await self._pause(error, failures)
        return failures + 1

    # ---- registration and shutdown

    async def _register(self) -> Optional[str]:
        """Returns the id of this worker, or None if it is stopping."""
        async with self._registering:
            failures = 0
            while self._worker_id is None:
                if self._stopping.is_set():
                    # Without a registration all leases are lost, and with them the reports of their
                    # tasks.
                    self.book.forget_leases()
                    return None
                try:
                    reply = await self._ask("POST", "/v1/workers", self._registration)
                except EverstepError as error:
                    if not is_worth_retrying(error) and error.status < 500:
                        self._give_up(error)
                        return None
                    await self._pause(error, failures)
                    failures += 1
                    continue
                self._lease = reply.get("leaseMs", 30_000) / 1000.0
                self._path = f"/v1/workers/{reply['workerId']}/poll"
                self._worker_id = reply["workerId"]
                self._registered.set()
            return self._worker_id

    async def _drain(self, listener: asyncio.Future[None]) -> None:
        """Stops taking tasks; the server answers the waiting poll."""
        try:
            # A poll whose reports are being written starts waiting only after the first of these
            # drains.
            for patience in (0.05, 0.2, 1.0):
                if self._worker_id is None:
                    break
                await self._ask("POST", f"/v1/workers/{self._worker_id}/drain", b"{}")
                await asyncio.wait([listener], timeout=patience)
                if listener.done():
                    break
        except EverstepError as error:
            log.info("draining without the server: %s", error)
        if not listener.done():
            # Its answer is lost; tasks in it go to other workers once we have left.
            self._listener.close()

    async def _farewell(self) -> None:
        """Deregisters, so that tasks still held go to other workers at once."""
        try:
            await self._ask("DELETE", f"/v1/workers/{self._worker_id}", None, 5.0)
        except EverstepError as error:
            log.debug("cannot deregister the worker: %s", error)

    async def _ask(
        self, method: str, path: str, body: Optional[bytes], timeout: float = _ANSWER_TIMEOUT
    ) -> Dict[str, Any]:
        """Sends a rare request on a separate connection."""
        connection = Connection(self._endpoint)
        try:
            headers = {} if body is None else _JSON
            answer = await connection.request(method, path, headers, body, timeout)
        finally:
            connection.close()
        return _content(answer)

    def _give_up(self, error: Exception) -> None:
        if self._fatal is None:
            # Logged because a caller that started it in the background does not see the exception
            # of run() yet.
            log.error("the worker stops because of an error: %s", error)
            self._fatal = error
        self._registered.set()
        self.stop()

    async def _pause(self, error: EverstepError, failures: int) -> None:
        delay = min(_BACKOFF_FIRST * 2 ** min(failures, 10), _BACKOFF_MAX)
        delay *= random.uniform(0.5, 1.0)
        if error.retry_after is not None:
            delay = max(delay, min(error.retry_after, _BACKOFF_MAX))
        if failures == 0:
            log.warning("a request of the worker failed, retrying: %s", error)
        await asyncio.sleep(delay)

    async def _tick(self) -> None:
        """Keeps the leases: sends a heartbeat for every held task three times per lease period."""
        await self._registered.wait()
        while True:
            await asyncio.sleep(self._lease / 3.0)
            for token in self.auto_beats():
                self.book.beat(token)
            if self.book.beats:
                self._wake.set()


def _content(answer: Answer) -> Dict[str, Any]:
    """Returns the server's answer. Raises EverstepError, also for the page of a proxy."""
    if answer.status >= 300:
        raise problem(*answer)
    try:
        content = json.loads(answer.body or b"{}")
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise TransportError("the answer is not JSON, or not an object")
    return content


def registration(
    name: str, kinds: Sequence[str], queues: Sequence[str], slots: int
) -> Dict[str, Any]:
    if not kinds:
        raise ValueError('a worker needs at least one handler: @worker.task("acme.charge")')
    if slots < 1:
        raise ValueError("a worker needs at least one slot")
    content: Dict[str, Any] = {"name": name, "kinds": sorted(kinds), "slots": slots}
    if queues:
        content["queues"] = list(queues)
    return content
