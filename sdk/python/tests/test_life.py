"""Starting, stopping and restarting workers, with a scripted server."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, List, Tuple, Type

import everstep

from .scripted_server import ScriptedServer, ScriptedWork, problem, task


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
        # The leftover report is not wanted: its lease ended with the worker.
        self.assertEqual(work.reports, [{"token": "new", "result": "new"}])

    def test_a_handler_that_outlasts_its_worker_keeps_its_slot_in_the_next(self) -> None:
        work = ScriptedWork([task("old")])
        worker = everstep.Worker(self.serve(work), slots=1, drain_timeout=0.05)
        begun, stopping, go = threading.Event(), threading.Event(), threading.Event()
        order: List[str] = []

        @worker.task("job")
        def job(ctx: everstep.ThreadTaskContext, inputs: Any) -> str:
            order.append(ctx.step_id + " begins")
            begun.set()
            if ctx.step_id == "old" and ctx.cancelled.wait(10):
                stopping.set()
                go.wait(10)
            order.append(ctx.step_id + " ends")
            return ctx.step_id

        with worker:
            self.assertTrue(begun.wait(10))
        self.assertTrue(stopping.wait(10))
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
                        pass  # ignores the cancellation
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

    def revocable(self) -> Tuple[ScriptedWork, str]:
        """A server that rejects the token from the second poll on."""
        work = ScriptedWork([task("a")])
        work.before_poll = lambda request: (
            problem(401, "UNAUTHENTICATED") if work.calls.count("POST poll") > 1 else None
        )
        return work, self.serve(work)

    def test_a_token_that_was_revoked_is_logged_and_raised_by_stop(self) -> None:
        _, url = self.revocable()
        worker = everstep.Worker(url)
        cancelled = threading.Event()

        @worker.task("job")
        def job(ctx: everstep.ThreadTaskContext, inputs: Any) -> None:
            if ctx.cancelled.wait(10):
                cancelled.set()

        with self.assertLogs("everstep", "ERROR") as logged:
            worker.start()
            self.assertTrue(cancelled.wait(10))
        self.assertIn("UNAUTHENTICATED", logged.output[0])
        with self.assertRaises(everstep.EverstepError) as caught:
            worker.stop()
        self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
        worker.stop()  # already raised before

    def test_leaving_the_block_of_a_worker_that_has_ended_raises_why(self) -> None:
        for raised in (everstep.EverstepError, ZeroDivisionError):
            work, url = self.revocable()
            worker = everstep.Worker(url)
            worker.task("job")(lambda ctx, inputs: None)
            with self.assertLogs("everstep", "ERROR"), self.assertRaises(raised):
                with worker:
                    self.assertTrue(work.wait_until(lambda: work.calls.count("POST poll") > 1))
                    if raised is ZeroDivisionError:
                        raise ZeroDivisionError  # the first error wins

    def test_leaving_the_block_of_an_async_worker_that_has_ended_raises_why(self) -> None:
        async def main(raised: Type[BaseException]) -> None:
            work, url = self.revocable()
            worker = everstep.AsyncWorker(url)
            worker.task("job")(lambda ctx, inputs: None)
            refused = lambda: work.calls.count("POST poll") > 1  # noqa: E731
            with self.assertLogs("everstep", "ERROR"), self.assertRaises(raised):
                async with worker:
                    self.assertTrue(await asyncio.to_thread(work.wait_until, refused))
                    if raised is ZeroDivisionError:
                        raise ZeroDivisionError

        asyncio.run(main(everstep.EverstepError))
        asyncio.run(main(ZeroDivisionError))

    def test_a_token_that_is_revoked_while_the_worker_drains_ends_it(self) -> None:
        work = ScriptedWork([task("a"), task("b")])
        work.before_poll = lambda request: (
            problem(401, "UNAUTHENTICATED") if request.body.get("reports") else None
        )
        worker = everstep.Worker(self.serve(work), slots=2)
        ends = {"a": threading.Event(), "b": threading.Event()}
        worker.task("job")(lambda ctx, inputs: ends[ctx.step_id].wait(10))
        worker.start()
        self.assertTrue(work.wait_until(lambda: work.calls.count("POST poll") == 2))
        stopper = threading.Thread(
            target=self.assertRaises, args=(everstep.EverstepError, worker.stop)
        )
        with self.assertLogs("everstep", "ERROR"):
            stopper.start()
            self.assertTrue(work.wait_until(lambda: work.draining))
            polls = work.calls.count("POST poll")
            ends["a"].set()
            stopper.join(5)
        self.assertFalse(stopper.is_alive())
        self.assertLessEqual(work.calls.count("POST poll"), polls + 1)
        ends["b"].set()

    def test_stopping_twice_does_not_stop_the_next_start(self) -> None:
        work = ScriptedWork([])
        worker = everstep.Worker(self.serve(work))
        worker.task("job")(lambda ctx, inputs: None)
        with worker:
            worker.stop()
        work.waiting.append(task("a"))
        with worker:
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))

    def test_a_worker_that_works_is_not_started_again(self) -> None:
        work = ScriptedWork([])
        url = self.serve(work)
        worker = everstep.Worker(url)
        worker.task("job")(lambda ctx, inputs: None)
        with worker:
            self.assertRaises(RuntimeError, worker.start)
            self.assertRaises(RuntimeError, worker.run)
            with work.lock:
                work.waiting.append(task("a"))
                work.lock.notify_all()
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))

        async def main() -> None:
            worker = everstep.AsyncWorker(url)
            worker.task("job")(lambda ctx, inputs: None)
            async with worker:
                with self.assertRaises(RuntimeError):
                    await worker.run()

        asyncio.run(main())
        self.assertEqual(work.registered, 2)

    def test_a_handler_can_stop_its_worker(self) -> None:
        work = ScriptedWork([task("a")])
        worker = everstep.Worker(self.serve(work), drain_timeout=5)

        @worker.task("job")
        def last(ctx: everstep.TaskContext, inputs: Any) -> str:
            worker.stop()
            return "done"

        worker.start()
        self.assertTrue(work.wait_until(lambda: "DELETE w1" in work.calls))
        self.assertEqual(work.reports, [{"token": "a", "result": "done"}])
        worker.stop()

    def test_an_async_worker_is_stopped_before_there_is_a_server(self) -> None:
        async def main() -> None:
            worker = everstep.AsyncWorker("http://127.0.0.1:1", drain_timeout=0.1)
            worker.task("job")(lambda ctx, inputs: None)
            entering = asyncio.ensure_future(worker.__aenter__())
            await asyncio.sleep(0.01)
            worker.stop()
            await asyncio.wait_for(entering, 10)
            await worker.__aexit__(None, None, None)
            # Stopping while waiting for a server must leave nothing behind.
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(worker.__aenter__(), 0.05)
            self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
