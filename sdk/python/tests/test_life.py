"""Starting, stopping and starting again, against a server that follows a script."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, List

import everstep

from .scripted_server import ScriptedServer, ScriptedWork, task


class LifeTest(unittest.TestCase):
    def serve(self, work: ScriptedWork) -> str:
        server = ScriptedServer(work)
        self.addCleanup(server.__exit__)
        return server.url

    def wait_for_handlers_to_end(self) -> None:
        for thread in threading.enumerate():
            if thread.name == "everstep-handler":
                thread.join(10)

    def test_a_worker_that_is_started_again_reports(self) -> None:
        work = ScriptedWork([task("old")])
        worker = everstep.Worker(self.serve(work), slots=1, drain_timeout=0.05)
        begun, go = threading.Event(), threading.Event()

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> str:
            begun.set()
            go.wait(10)
            return ctx.step_id

        worker.start()
        self.assertTrue(begun.wait(10))
        worker.stop()
        go.set()
        self.wait_for_handlers_to_end()
        work.waiting.append(task("new"))
        with worker:
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))
        # Nobody waits for what was left: its lease had ended when the worker did.
        self.assertEqual(work.reports, [{"token": "new", "result": "new"}])

    def test_a_handler_that_outlasts_its_worker_keeps_its_slot_in_the_next(self) -> None:
        work = ScriptedWork([task("old")])
        worker = everstep.Worker(self.serve(work), slots=1, drain_timeout=0.05)
        begun, told, go = threading.Event(), threading.Event(), threading.Event()
        order: List[str] = []

        @worker.task("job")
        def job(ctx: everstep.ThreadTaskContext, inputs: Any) -> str:
            order.append(ctx.step_id + " begins")
            begun.set()
            if ctx.step_id == "old" and ctx.cancelled.wait(10):
                told.set()
                go.wait(10)
            order.append(ctx.step_id + " ends")
            return ctx.step_id

        with worker:
            self.assertTrue(begun.wait(10))
        self.assertTrue(told.wait(10))
        work.waiting.append(task("new"))
        with worker:
            go.set()
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))
        self.assertEqual(work.reports, [{"token": "new", "result": "new"}])
        self.assertEqual(order, ["old begins", "old ends", "new begins", "new ends"])

    def test_a_coroutine_that_outlasts_its_worker_keeps_its_slot_in_the_next(self) -> None:
        work = ScriptedWork([task("old")])
        order: List[str] = []

        async def main() -> None:
            worker = everstep.AsyncWorker(self.serve(work), slots=1, drain_timeout=0.05)
            begun, go = asyncio.Event(), asyncio.Event()

            @worker.task("job")
            async def job(ctx: everstep.TaskContext, inputs: Any) -> str:
                order.append(ctx.step_id + " begins")
                begun.set()
                while not go.is_set():
                    try:
                        await go.wait()
                    except asyncio.CancelledError:
                        pass  # deaf
                order.append(ctx.step_id + " ends")
                return ctx.step_id

            async with worker:
                await begun.wait()
            work.waiting.append(task("new"))
            async with worker:
                go.set()
                await asyncio.to_thread(work.wait_until, lambda: bool(work.reports))

        asyncio.run(main())
        self.assertEqual(work.reports, [{"token": "new", "result": "new"}])
        self.assertEqual(order, ["old begins", "old ends", "new begins", "new ends"])


if __name__ == "__main__":
    unittest.main()
