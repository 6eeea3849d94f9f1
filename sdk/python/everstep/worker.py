"""The worker that uses threads."""

from __future__ import annotations

import asyncio
import queue
import ssl
import threading
from collections import deque
from types import TracebackType
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Optional,
    Sequence,
    Set,
    Tuple,
    Type,
    TypeVar,
)

from .async_worker import _on_signals, default_name
from .endpoint import Endpoint
from .task import Report, ThreadTaskContext, failure_of, success
from .work_book import Task, WorkBook
from .work_loop import WorkLoop, registration

Handler = Callable[[ThreadTaskContext, Any], Any]
H = TypeVar("H", bound=Handler)
_BUSY = "the worker is already running"
_Job = Tuple[ThreadTaskContext, Handler, Any]
_Jobs = queue.SimpleQueue[Optional[_Job]]


class Worker:
    """Executes tasks of a server in threads, up to `slots` at a time.

    Handlers are `def handler(ctx, inputs)`, each call in its own thread; the return value is the
    step's result. The protocol with the server uses one more thread: the caller of run(), or a
    separate one after start().
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
        slots: int = 16,
        queues: Sequence[str] = (),
        name: Optional[str] = None,
        wait: float = 30.0,
        drain_timeout: float = 30.0,
    ) -> None:
        self._endpoint = Endpoint(url, token, tls)
        self._book = WorkBook(slots)
        self._queues = tuple(queues)
        self._name = name or default_name()
        self._wait = wait
        self._drain_timeout = drain_timeout
        self._handlers: Dict[str, Handler] = {}
        self._silent: Set[str] = set()
        self._jobs: _Jobs = queue.SimpleQueue()  # of this run, as its threads
        self._threads: Set[threading.Thread] = set()
        self._done: Deque[Tuple[ThreadTaskContext, Report]] = deque()
        self._collecting = False
        self._events: Optional[asyncio.AbstractEventLoop] = None
        self._loop: Optional[WorkLoop] = None
        self._stop_asked = False
        self._lock = threading.Lock()  # guards _loop, _events and _stop_asked
        self._background: Optional[threading.Thread] = None
        self._failure: Optional[BaseException] = None
        self._ready = threading.Event()

    def task(self, kind: str, *, auto_heartbeat: bool = True) -> Callable[[H], H]:
        """Registers a handler. Without `auto_heartbeat` a handler that does not call
        `ctx.heartbeat()` within the lease loses its task to another delivery."""

        def register(handler: H) -> H:
            if kind in self._handlers:
                raise ValueError(f"{kind} has a handler already")
            self._handlers[kind] = handler
            if not auto_heartbeat:
                self._silent.add(kind)
            return handler

        return register

    def run(self) -> None:
        """Works until stop(), or SIGTERM or SIGINT if this is the main thread: then takes no more
        tasks, finishes the running ones within `drain_timeout`, and reports them."""
        asyncio.run(self._main())

    def start(self) -> None:
        """Works in the background; returns once it is registered. Raises like run()."""
        if self._background is not None and self._background.is_alive():
            raise RuntimeError(_BUSY)
        self._stop_asked = False  # whatever was stopped before
        self._ready.clear()
        self._failure = None
        self._background = threading.Thread(target=self._in_background, name="everstep-worker")
        self._background.daemon = True
        self._background.start()
        self._ready.wait()
        if self._failure is not None:
            self._background.join()
            self._raise_failure()

    def stop(self) -> None:
        """Ends run(), from any thread. After start(), returns once all running tasks are reported,
        and raises the error that ended the worker before, if any. A handler that calls it does not
        wait, because it is one of the tasks to finish."""
        self._end()
        if not self._is_own_thread():
            self._raise_failure()

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._end()
        if error is None:
            self._raise_failure()

    def _end(self) -> None:
        with self._lock:
            self._stop_asked = True
            if self._loop is not None and self._events is not None:
                self._events.call_soon_threadsafe(self._loop.stop)
        if self._background is not None and not self._is_own_thread():
            self._background.join()

    def _is_own_thread(self) -> bool:
        thread = threading.current_thread()
        return thread is self._background or thread in self._threads

    def _raise_failure(self) -> None:
        """Raises the stored failure, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # ---- the protocol thread

    def _in_background(self) -> None:
        try:
            self.run()
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        book = self._book
        spec = registration(self._name, list(self._handlers), self._queues, book.slots)
        loop = WorkLoop(self._endpoint, spec, book, self._launch, self._wait, self._drain_timeout)
        if self._silent:
            loop.auto_beats = lambda: [
                token for token, ctx in book.held.items() if ctx.kind not in self._silent
            ]
        with self._lock:
            if self._loop is not None:
                raise RuntimeError(_BUSY)
            self._events, self._loop = asyncio.get_running_loop(), loop
            if self._stop_asked:
                loop.stop()
        self._collect()  # results that arrived while nobody collected them
        announcer = asyncio.ensure_future(self._announce(loop))
        forget_signals = _on_signals(loop.stop)
        try:
            await loop.run()
        finally:
            forget_signals()
            announcer.cancel()
            with self._lock:
                self._loop = self._events = None
                self._stop_asked = False
            for _ in self._threads:
                self._jobs.put(None)
            self._jobs, self._threads = queue.SimpleQueue(), set()

    async def _announce(self, loop: WorkLoop) -> None:
        if await loop.wait_registered():
            self._ready.set()

    def _launch(self, tasks: Sequence[Task]) -> None:
        book = self._book
        for task in tasks:
            ctx = ThreadTaskContext(task, self._beat)
            book.begin(ctx)
            self._jobs.put((ctx, self._handlers[ctx.kind], task.get("inputs") or {}))
        while len(self._threads) < book.slots - book.free_slots:
            # Daemon threads: a handler that does not end does not keep the process alive.
            thread = threading.Thread(
                target=self._work, args=(self._jobs,), name="everstep-handler", daemon=True
            )
            self._threads.add(thread)
            thread.start()

    def _collect(self) -> None:
        self._collecting = False
        while self._done:
            self._book.finish(*self._done.popleft())
        if self._loop is not None:
            self._loop.wake()

    def _take_beat(self, token: str) -> None:
        self._book.beat(token)
        if self._loop is not None:
            self._loop.wake()

    # ---- the handler threads

    def _work(self, jobs: _Jobs) -> None:
        while True:
            job = jobs.get()
            if job is None:
                return
            ctx, handler, inputs = job
            try:
                report = success(ctx.token, handler(ctx, inputs))
            except BaseException as error:
                report = failure_of(ctx, error)
            self._done.append((ctx, report))
            # One call into the event loop collects everything finished by then.
            if not self._collecting:
                self._collecting = True
                self._call(self._collect)

    def _beat(self, token: str) -> None:
        self._call(self._take_beat, token)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        events = self._events
        try:
            if events is not None:
                events.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the event loop has ended: the next one collects
