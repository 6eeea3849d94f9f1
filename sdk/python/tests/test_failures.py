"""Whatever a handler does, its task is reported and its slot is freed."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, Callable, Dict, NamedTuple, Set

import everstep

from .scripted_server import ScriptedServer, ScriptedWork, task


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("no words")


class Unfinished(everstep.TaskFailed):
    def __init__(self) -> None:
        pass  # deliberately does not call its base class


class Quit(BaseException):
    pass


class Moving(Dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("changed during iteration")


class Shy:
    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


class Case(NamedTuple):
    does: Any  # what the handler raises, or returns
    code: str
    message: str
    retryable: bool = False
    details: Any = None  # only checked if set


def failed(*arguments: Any, **more: Any) -> everstep.TaskFailed:
    return everstep.TaskFailed(*arguments, **more)


CASES = [
    Case(failed("X", ValueError("a")), "X", "a"),
    Case(failed("X", None), "X", ""),
    Case(failed(7, "m"), "7", "m"),
    Case(failed("X", "m", retry_after=float("inf")), "X", "m"),
    Case(failed("X", "m", True, "soon"), "X", "m", True),
    Case(failed("X", "m", category=5), "X", "m"),
    Case(failed("X", "m", details={1}), "X", "m", details="{1}"),
    Case(failed("X", "m", details=Moving(a=1)), "X", "m", details="{'a': 1}"),
    Case(failed("X", Unspeakable()), "X", "SystemExit"),
    Case(Unspeakable(), "Unspeakable", "SystemExit", True),
    Case(everstep.TaskCancelled(Unspeakable()), "CANCELLED", "SystemExit"),
    Case(Unfinished(), "Unfinished", "no attribute", True),
    Case(ValueError("file \udcff"), "ValueError", "file \\udcff", True),
    Case(failed("X", "\udcff", details=["\udcff"]), "X", "\\udcff", details="['\\udcff']"),
    Case(everstep.TaskCancelled("\udcff"), "CANCELLED", "\\udcff"),
    Case(Quit("enough"), "Quit", "enough", True),
    Case(SystemExit(3), "SystemExit", "3", True),
    Case(GeneratorExit(), "GeneratorExit", "", True),
    Case(asyncio.CancelledError("not by us"), "CancelledError", "not by us", True),
    Case(Moving(a=1), "RESULT_NOT_JSON", "changed"),
    Case(Shy(), "RESULT_NOT_JSON", "Shy"),
]


def handle(ctx: everstep.TaskContext, inputs: Any) -> Any:
    does = CASES[inputs["n"]].does
    if isinstance(does, BaseException):
        raise does
    return does


async def handle_async(ctx: everstep.TaskContext, inputs: Any) -> Any:
    return handle(ctx, inputs)


class FailureTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = ScriptedWork([task(f"t{n}", n=n) for n in range(len(CASES))])
        server = ScriptedServer(self.work)
        self.addCleanup(server.__exit__)
        self.url = server.url

    def wait_until_all_are_reported(self) -> None:
        self.work.wait_until(lambda: len(self.work.reports) == len(CASES))

    def do_all_in_asyncio(self, handler: Callable[..., Any]) -> None:
        async def main() -> None:
            worker = everstep.AsyncWorker(self.url, slots=1, drain_timeout=1)
            worker.task("job")(handler)
            async with worker:
                await asyncio.to_thread(self.wait_until_all_are_reported)

        asyncio.run(main())

    def expect_all_failed(self) -> None:
        errors = {report["token"]: report.get("error", {}) for report in self.work.reports}
        for n, case in enumerate(CASES):
            with self.subTest(repr(type(case.does)), n=n):
                error = errors.get(f"t{n}", {})
                self.assertEqual(error.get("code"), case.code)
                self.assertIn(case.message, error["message"])
                self.assertEqual(error.get("retryable", False), case.retryable)
                if case.details is not None:
                    self.assertEqual(error["details"], case.details)

    def test_whatever_a_handler_does_in_a_thread_is_reported(self) -> None:
        worker = everstep.Worker(self.url, slots=1, drain_timeout=1)
        worker.task("job")(handle)
        with worker:
            self.wait_until_all_are_reported()
        self.expect_all_failed()

    def test_whatever_a_coroutine_does_is_reported(self) -> None:
        self.do_all_in_asyncio(handle_async)
        self.expect_all_failed()

    def test_a_coroutine_that_is_cancelled_before_it_begins_is_reported(self) -> None:
        tasks_before: Set[Any] = set()

        def cancel_the_new() -> None:
            for each in asyncio.all_tasks() - tasks_before:
                each.cancel()

        def handler(ctx: everstep.TaskContext, inputs: Any) -> Any:
            tasks_before.update(asyncio.all_tasks())
            asyncio.get_running_loop().call_soon(cancel_the_new)
            return asyncio.get_running_loop().create_future()

        self.do_all_in_asyncio(handler)
        self.assertEqual(
            {report["error"]["code"] for report in self.work.reports}, {"CancelledError"}
        )

    def test_whatever_a_plain_handler_does_in_the_event_loop_is_reported(self) -> None:
        self.do_all_in_asyncio(handle)
        self.expect_all_failed()


if __name__ == "__main__":
    unittest.main()
