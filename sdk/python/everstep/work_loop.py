"""The conversation of a worker with its server, for both kinds of workers.

Two connections carry it:

- the *listener* always has a poll under way that waits for tasks, for up to `wait` seconds. With
  all slots taken it still brings at once what is to be stopped.
- the *reporter* sends reports and heartbeats as soon as there are any, in a poll that does not
  wait. That poll asks for tasks as well, since the next step of the same run usually is there by
  the time its report is durable: a chain of quick steps costs one round trip each, and a batch of
  chains one for the whole batch. While it is under way further reports gather, so that the busier
  the worker is, the more each round trip carries. What is ready when the reporter is busy and the
  listener goes out goes with the listener.

So no report waits for anything but the one before it, the worker has tasks to do while the server
writes what was reported, and under load there is far less than one round trip for a task. A third
connection would only make the batches smaller.
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
    have a slot; it begins them and calls `book.finish`, and `wake` if that was later. One event
    loop owns all of it."""

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
        self._wake = asyncio.Event()  # for the reporter
        self._stopping = asyncio.Event()
        self._fatal: Optional[Exception] = None

    async def run(self) -> None:
        """Until stop() and all that was held is reported, or `drain_timeout` is over. Raises what
        cannot be cured by another try: a token that is not valid, a kind that is refused."""
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
            self._registered.set()  # nobody need wait for it any more
            self.book.forget_leases()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        self._stopping.set()
        self.book.waiting.clear()  # what has not begun is for others when we have gone
        self.wake()

    async def wait_registered(self) -> bool:
        """False: run() ends, or has ended."""
        await self._registered.wait()
        return not self._stopping.is_set()

    def wake(self) -> None:
        """There is something to send, or a slot is free."""
        self._wake.set()

    async def _guard(self, part: Coroutine[Any, Any, None]) -> None:
        """A mistake of our own ends the worker, and is not lost."""
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
                # The server does not know that every slot is taken: it has ended leases.
                await self._register()
                await asyncio.sleep(0.05)
                continue
            failures = await self._round(self._listener, wanted, self._wait, failures)
            # What is done by now is the reporter's, if it is free.
            self._wake.set()
            await asyncio.sleep(0)
        self._wake.set()  # what there is left to send is for the reporter

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
        """One poll and what follows from its answer. How many have failed in a row."""
        worker_id = self._worker_id or await self._register()
        if worker_id is None:
            return 0
        poll = self.book.next_poll(wanted, wait)
        if self.book.owes:
            self._wake.set()  # more than a poll can carry
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
            # A third, since what begins shows only after another third that it lives.
            self.book.receive(tasks, time.monotonic() + self._lease / 3.0)
            self._begin()
            # One turn of the event loop: handlers that have nothing to wait for are done then.
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

    # ---- beginning and end

    async def _register(self) -> Optional[str]:
        """The id of this worker; None: it is not needed any more."""
        async with self._registering:
            failures = 0
            while self._worker_id is None:
                if self._stopping.is_set():
                    # Leases without a registration are lost; so is what is to be reported on them.
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
        """No more tasks; the server answers the poll that waits."""
        try:
            # A poll whose reports were being written begins to wait after the first of these.
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
            # Its answer is lost; tasks in it are for others when we have gone.
            self._listener.close()

    async def _farewell(self) -> None:
        """Whatever is still held is for others at once."""
        try:
            await self._ask("DELETE", f"/v1/workers/{self._worker_id}", None, 5.0)
        except EverstepError as error:
            log.debug("gone without a word: %s", error)

    async def _ask(
        self, method: str, path: str, body: Optional[bytes], timeout: float = _ANSWER_TIMEOUT
    ) -> Dict[str, Any]:
        """What is asked rarely, on a connection of its own."""
        connection = Connection(self._endpoint)
        try:
            headers = {} if body is None else _JSON
            answer = await connection.request(method, path, headers, body, timeout)
        finally:
            connection.close()
        return _content(answer)

    def _give_up(self, error: Exception) -> None:
        if self._fatal is None:
            # Whoever started it in the background does not see yet what run() raises.
            log.error("the worker gives up: %s", error)
            self._fatal = error
        self._registered.set()
        self.stop()

    async def _pause(self, error: EverstepError, failures: int) -> None:
        delay = min(_BACKOFF_FIRST * 2 ** min(failures, 10), _BACKOFF_MAX)
        delay *= random.uniform(0.5, 1.0)
        if error.retry_after is not None:
            delay = max(delay, min(error.retry_after, _BACKOFF_MAX))
        if failures == 0:
            log.warning("the server does not serve this worker, trying again: %s", error)
        await asyncio.sleep(delay)

    async def _tick(self) -> None:
        """Keeps the leases: everything held says three times in a lease's time that it lives."""
        await self._registered.wait()
        while True:
            await asyncio.sleep(self._lease / 3.0)
            for token in self.auto_beats():
                self.book.beat(token)
            if self.book.beats:
                self._wake.set()


def _content(answer: Answer) -> Dict[str, Any]:
    """What the server says; EverstepError. A page of somebody between is no answer."""
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
