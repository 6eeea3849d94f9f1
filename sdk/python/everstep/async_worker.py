"""The worker for asyncio."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import sys
import threading
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Sequence, Set, Type, TypeVar

from .endpoint import Endpoint
from .task import AsyncTaskContext, Report, failure_of, success
from .work_book import Task, WorkBook
from .work_loop import WorkLoop, registration

Handler = Callable[[AsyncTaskContext, Any], Any]
H = TypeVar("H", bound=Handler)

_EAGER = sys.version_info >= (3, 12)


def default_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


class AsyncWorker:
    """Executes tasks of a server in this event loop, up to `slots` at a time.

    Handlers are `async def handler(ctx, inputs)`; a plain `def` is called in the event loop and
    must not block. The return value of a handler is the step's result.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
        slots: int = 64,
        queues: Sequence[str] = (),
        name: Optional[str] = None,
        wait: float = 30.0,
        cancel_grace: float = 5.0,
        drain_timeout: float = 30.0,
    ) -> None:
        self._endpoint = Endpoint(url, token, tls)
        self._book = WorkBook(slots)
        self._queues = tuple(queues)
        self._name = name or default_name()
        self._wait = wait
        self._cancel_grace = cancel_grace
        self._drain_timeout = drain_timeout
        self._handlers: Dict[str, Handler] = {}
        self._silent: Set[str] = set()  # kinds whose handlers send heartbeats themselves
        self._loop: Optional[WorkLoop] = None
        self._running: Set[asyncio.Future[None]] = set()
        self._background: Optional[asyncio.Future[None]] = None

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

    async def run(self, *, handle_signals: bool = True) -> None:
        """Works until stop(), SIGTERM or SIGINT: then takes no more tasks, finishes the running
        ones within `drain_timeout`, and reports them. A second signal ends it at once."""
        if self._loop is not None:
            raise RuntimeError("the worker is already running")
        book = self._book
        spec = registration(self._name, list(self._handlers), self._queues, book.slots)
        loop = WorkLoop(self._endpoint, spec, book, self._launch, self._wait, self._drain_timeout)
        if self._silent:
            loop.auto_beats = lambda: [
                token for token, ctx in book.held.items() if ctx.kind not in self._silent
            ]
        self._loop = loop
        forget_signals = _on_signals(self.stop) if handle_signals else lambda: None
        try:
            await loop.run()
        finally:
            forget_signals()
            for task in list(self._running):
                task.cancel()
            self._loop = None

    def stop(self) -> None:
        """Asks run() to end. Must be called from the event loop."""
        if self._loop is not None:
            self._loop.stop()

    async def __aenter__(self) -> AsyncWorker:
        """Works in the background; returns once it is registered."""
        background = asyncio.ensure_future(self.run(handle_signals=False))
        try:
            await asyncio.sleep(0)
            if background.done() or self._loop is None or not await self._loop.wait_registered():
                await background
        except BaseException:
            background.cancel()
            await asyncio.gather(background, return_exceptions=True)
            raise
        self._background = background
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()
        if self._background is not None:
            (failure,) = await asyncio.gather(self._background, return_exceptions=True)
            if failure is not None and error is None:
                raise failure

    def _beat(self, token: str) -> None:
        self._book.beat(token)
        if self._loop is not None:
            self._loop.wake()

    def _launch(self, tasks: Sequence[Task]) -> None:
        book = self._book
        for task in tasks:
            ctx = AsyncTaskContext(task, self._beat, self._cancel_grace)
            book.begin(ctx)
            try:
                result = self._handlers[ctx.kind](ctx, task.get("inputs") or {})
            except BaseException as error:
                book.finish(ctx, failure_of(ctx, error))
                if isinstance(error, KeyboardInterrupt):
                    raise
                continue
            if hasattr(type(result), "__await__"):
                self._begin(ctx, result)
            else:
                book.finish(ctx, success(ctx.token, result))

    def _begin(self, ctx: AsyncTaskContext, result: Any) -> None:
        execution = self._execute(ctx, result)
        if _EAGER:
            eager: Any = {"eager_start": True, "loop": asyncio.get_running_loop()}
            running: asyncio.Future[None] = asyncio.Task(execution, **eager)
        else:
            running = asyncio.ensure_future(execution)
        if running.done():
            return

        def ended(done: asyncio.Future[None]) -> None:
            self._running.discard(done)
            if done.cancelled():  # before it started, so nothing was reported
                self._finish(ctx, failure_of(ctx, asyncio.CancelledError()))

        ctx.runs_as(running)
        self._running.add(running)
        running.add_done_callback(ended)

    async def _execute(self, ctx: AsyncTaskContext, result: Any) -> None:
        try:
            self._finish(ctx, success(ctx.token, await result))
        except BaseException as error:
            self._finish(ctx, failure_of(ctx, error))
            if isinstance(error, KeyboardInterrupt):
                raise

    def _finish(self, ctx: AsyncTaskContext, report: Report) -> None:
        self._book.finish(ctx, report)
        if self._loop is not None:
            self._loop.wake()


def _on_signals(stop: Callable[[], None]) -> Callable[[], None]:
    """Calls `stop` on the first SIGTERM or SIGINT. The returned function undoes that."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    loop = asyncio.get_running_loop()

    def forget() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)

    def first() -> None:
        forget()
        stop()

    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    try:
        for number in numbers:
            loop.add_signal_handler(number, first)
    except NotImplementedError:  # the event loop on Windows
        return lambda: None
    return forget
