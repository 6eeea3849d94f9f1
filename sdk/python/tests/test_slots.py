"""A worker runs no more than `slots` tasks at a time, whatever the server leases and handlers do.
The script leases without counting, like a server that has ended leases the worker believes in."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, List

import everstep

from .scripted_server import ScriptedServer, ScriptedWork, task


class SlotsTest(unittest.TestCase):
    def serve(self, work: ScriptedWork) -> str:
        server = ScriptedServer(work)
        self.addCleanup(server.__exit__)
        return server.url

    def test_a_task_that_came_too_soon_begins_when_a_slot_is_free(self) -> None:
        work = ScriptedWork([task("a"), task("b")])
        worker = everstep.Worker(self.serve(work), slots=1)
        order: List[str] = []

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> None:
            order.append(ctx.step_id + " begins")
            threading.Event().wait(0.2)  # b arrives long before this ends
            order.append(ctx.step_id + " ends")

        with worker:
            self.assertTrue(work.wait_until(lambda: len(work.reports) == 2))
        self.assertEqual(order, ["a begins", "a ends", "b begins", "b ends"])

    def test_a_task_that_finds_no_slot_is_left_to_others(self) -> None:
        work = ScriptedWork([task("a"), task("b"), task("c")], lease_ms=300)
        worker = everstep.Worker(self.serve(work), slots=1)
        go = threading.Event()
        begun: List[str] = []

        @worker.task("job")
        def deaf(ctx: everstep.TaskContext, inputs: Any) -> None:
            begun.append(ctx.step_id)
            go.wait(10)

        with worker:
            # Three thirds of a lease: b's lease was not kept and has ended.
            self.assertTrue(work.wait_until(lambda: work.heartbeats.count("a") >= 3))
            self.assertEqual(begun, ["a"])
            go.set()
            self.assertTrue(work.wait_until(lambda: len(work.reports) == 2))
        self.assertEqual(begun, ["a", "c"])
        self.assertNotIn("b", work.heartbeats)

    def test_a_handler_that_does_not_stop_keeps_its_slot(self) -> None:
        work = ScriptedWork([task("a")])

        async def main() -> None:
            worker = everstep.AsyncWorker(self.serve(work), slots=2, cancel_grace=0)
            stopping, go = asyncio.Event(), asyncio.Event()

            @worker.task("job")
            async def job(ctx: everstep.AsyncTaskContext, inputs: Any) -> str:
                while ctx.step_id == "a" and not go.is_set():
                    try:
                        await go.wait()
                    except asyncio.CancelledError:
                        stopping.set()
                return ctx.step_id

            async def polls(count: int) -> None:
                reached = lambda: work.calls.count("POST poll") == count  # noqa: E731
                self.assertTrue(await asyncio.to_thread(work.wait_until, reached))

            async with worker:
                try:
                    await polls(2)
                    with work.lock:
                        work.stop.append("a")
                        work.lock.notify_all()
                    await asyncio.wait_for(stopping.wait(), 10)
                    await polls(3)
                    self.assertEqual(work.asked, [2, 2, 1])
                finally:
                    go.set()

        asyncio.run(main())
        self.assertEqual(work.reports, [{"token": "a", "result": "a"}])

    def test_coroutines_keep_to_the_slots_too(self) -> None:
        work = ScriptedWork([task(f"t{n}") for n in range(6)])

        async def main() -> None:
            worker = everstep.AsyncWorker(self.serve(work), slots=2)
            running: List[str] = []

            @worker.task("job")
            async def job(ctx: everstep.TaskContext, inputs: Any) -> int:
                running.append(ctx.step_id)
                await asyncio.sleep(0.2)
                count = len(running)
                running.remove(ctx.step_id)
                return count

            async with worker:
                await asyncio.to_thread(work.wait_until, lambda: len(work.reports) == 6)

        asyncio.run(main())
        self.assertEqual(len(work.reports), 6)
        self.assertLessEqual(max(report["result"] for report in work.reports), 2)


if __name__ == "__main__":
    unittest.main()
