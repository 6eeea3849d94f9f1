"""The workers with the real server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import unittest
from typing import Any, Dict, List, Set, Tuple

import everstep

from .server import Server, ServerTest, plan_of

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class WorkerTest(ServerTest):
    def setUp(self) -> None:
        self.client = everstep.Client(self.server.url)
        self.addCleanup(self.client.close)

    def start(self, *steps: Dict[str, Any], **more: Any) -> everstep.Run:
        return self.client.start(plan_of(self.kind("plan"), *steps, **more))

    def test_a_run_is_done_by_a_worker(self) -> None:
        worker = everstep.Worker(self.server.url, slots=2, name="adder")
        contexts: List[everstep.TaskContext] = []

        @worker.task(self.kind())
        def add(ctx: everstep.TaskContext, inputs: Any) -> Any:
            contexts.append(ctx)
            return {"sum": inputs["a"] + inputs["b"]}

        run = self.start(
            {"kind": self.kind(), "inputs": {"a": 1, "b": 2}, "timeout": "20s"},
            {"kind": self.kind(), "inputs": {"a": "{{ steps.s1.result.sum }}", "b": 10}},
            outputs={"sum": "{{ steps.s2.result.sum }}"},
        )
        with worker:
            self.assertEqual(run.result(20), {"sum": 13})
            self.assertIn("adder", [each["name"] for each in self.client.workers()])
        first = contexts[0]
        self.assertEqual((first.run_id, first.step_id, first.kind), (run.id, "s1", self.kind()))
        self.assertEqual((first.logical_attempt, first.engine_attempt), (1, 1))
        self.assertEqual((first.timeout, contexts[1].timeout), (20.0, None))
        self.assertTrue(first.idempotency_key)
        self.assertNotIn("adder", [each["name"] for each in self.client.workers()])

    def test_a_failure_that_may_pass_is_tried_again(self) -> None:
        worker = everstep.Worker(self.server.url)
        attempts: List[Tuple[int, str]] = []

        @worker.task(self.kind())
        def flaky(ctx: everstep.TaskContext, inputs: Any) -> str:
            attempts.append((ctx.logical_attempt, ctx.idempotency_key))
            if ctx.logical_attempt == 1:
                raise ConnectionResetError("not yet")
            if ctx.logical_attempt == 2:
                raise everstep.TaskFailed("BUSY", "soon", retryable=True, retry_after=0.05)
            return "done"

        policy = {"maxAttempts": 3, "initialDelay": "10ms"}
        run = self.start(
            {"kind": self.kind(), "retryPolicy": policy}, outputs="{{ steps.s1.result }}"
        )
        with worker:
            self.assertEqual(run.result(20), "done")
        self.assertEqual([attempt for attempt, _ in attempts], [1, 2, 3])

    def test_a_failure_has_its_code(self) -> None:
        worker = everstep.Worker(self.server.url)

        @worker.task(self.kind())
        def fails(ctx: everstep.TaskContext, inputs: Any) -> None:
            if inputs["how"] == "said":
                raise everstep.TaskFailed("CARD_DECLINED", "no money", details={"limit": 5})
            if inputs["how"] == "raised":
                raise LookupError("nothing there")
            return {1, 2}  # type: ignore[return-value]

        policy = {"maxAttempts": 3, "initialDelay": "10ms"}
        with worker:
            for how, code, message, attempts in (
                ("said", "CARD_DECLINED", "no money", 1),
                ("raised", "LookupError", "nothing there", 3),
                ("not JSON", "RESULT_NOT_JSON", "set", 1),
            ):
                with self.subTest(how):
                    run = self.start(
                        {"kind": self.kind(), "retryPolicy": policy, "inputs": {"how": how}}
                    )
                    step = run.wait(20).step("s1")
                    self.assertEqual(step.status, "FAILED")
                    self.assertEqual((step.error_code, step.logical_attempt), (code, attempts))
                    self.assertIn(message, step.error_message)

    def test_cancelling_a_run_reaches_its_handler(self) -> None:
        worker = everstep.Worker(self.server.url, slots=1)
        begun, seen = threading.Event(), threading.Event()

        @worker.task(self.kind())
        def endless(ctx: everstep.ThreadTaskContext, inputs: Any) -> None:
            begun.set()
            if ctx.cancelled.wait(20):
                seen.set()
            raise everstep.TaskCancelled()

        with worker:
            run = self.start({"kind": self.kind()})
            self.assertTrue(begun.wait(20))
            run.cancel()
            self.assertTrue(seen.wait(20))
            self.assertEqual(run.wait(20).status, "CANCELLED")

    def test_a_step_without_a_worker_says_so(self) -> None:
        run = self.start({"kind": self.kind()})
        blockers = run.why().blockers
        self.assertTrue(any("worker" in blocker.message for blocker in blockers), blockers)
        run.cancel()

    def test_queues_and_slots_are_kept(self) -> None:
        worker = everstep.Worker(self.server.url, slots=3, queues=["narrow"])
        lock = threading.Lock()
        running: List[int] = [0, 0]

        @worker.task(self.kind())
        def count(ctx: everstep.TaskContext, inputs: Any) -> None:
            self.assertEqual(ctx.queue, "narrow")
            with lock:
                running[0] += 1
                running[1] = max(running)
            threading.Event().wait(0.02)
            with lock:
                running[0] -= 1

        loop = {"items": list(range(12)), "maxInFlight": 12}
        run = self.start({"kind": self.kind(), "queue": "narrow", "foreach": loop})
        with worker:
            self.assertEqual(run.wait(20).status, "COMPLETED")
        self.assertLessEqual(running[1], 3)

    def test_a_signal_drains_the_worker(self) -> None:
        kind = self.kind()
        code = f"""
import sys, time, everstep
worker = everstep.Worker({self.server.url!r}, slots=1)
@worker.task({kind!r})
def slow(ctx, inputs):
    print("begun", flush=True)
    time.sleep(0.5)
    return "finished"
worker.run()
print("left", flush=True)
"""
        run = self.start({"kind": kind}, outputs="{{ steps.s1.result }}")
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=SDK, text=True
        ) as process:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.stdout.readline(), "left\n")
            self.assertEqual(process.wait(20), 0)
        self.assertEqual(run.result(20), "finished")

    def test_a_kind_of_the_server_is_refused(self) -> None:
        worker = everstep.Worker(self.server.url)
        worker.task("shell")(lambda ctx, inputs: None)
        with self.assertRaises(everstep.EverstepError) as caught:
            worker.start()
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")


class ReadmeTest(ServerTest):
    def script(self, block: int) -> subprocess.Popen[str]:
        with open(os.path.join(SDK, "README.md"), encoding="utf-8") as file:
            code = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)[block]
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            cwd=SDK,
            env={**os.environ, "EVERSTEP_URL": self.server.url},
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for_workers(self, count: int) -> None:
        with everstep.Client(self.server.url) as client:
            while len(client.workers()) != count:
                threading.Event().wait(0.02)

    def test_the_examples_of_the_readme_run(self) -> None:
        workers = [self.script(0), self.script(2)]
        said, _ = self.script(1).communicate(timeout=30)
        self.assertIn("'charged': 25", said)
        self.wait_for_workers(2)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(20), 0)
        self.wait_for_workers(0)


class AsyncWorkerTest(ServerTest):
    def test_plain_and_async_handlers_do_many_runs(self) -> None:
        plain, waits = self.kind("plain"), self.kind("waits")

        async def main() -> None:
            worker = everstep.AsyncWorker(self.server.url, slots=50)

            @worker.task(plain)
            def twice(ctx: everstep.TaskContext, inputs: Any) -> Any:
                return inputs["n"] * 2

            @worker.task(waits)
            async def plus_one(ctx: everstep.TaskContext, inputs: Any) -> Any:
                await asyncio.sleep(0.01)
                return inputs["n"] + 1

            plan = plan_of(
                self.kind("plan"),
                {"kind": plain, "inputs": {"n": "{{ inputs.n }}"}},
                {"kind": waits, "inputs": {"n": "{{ steps.s1.result }}"}},
                inputs={"n": {"type": "integer"}},
                outputs="{{ steps.s2.result }}",
            )
            async with worker, everstep.AsyncClient(self.server.url) as client:

                async def one(number: int) -> Any:
                    return await (await client.start(plan, {"n": number})).result(30)

                results = await asyncio.gather(*(one(number) for number in range(50)))
                self.assertEqual(results, [number * 2 + 1 for number in range(50)])

        asyncio.run(main())

    def test_failures_and_cancellation(self) -> None:
        fails, hangs = self.kind("fails"), self.kind("hangs")

        async def main() -> None:
            worker = everstep.AsyncWorker(self.server.url, slots=2, cancel_grace=0.05)
            begun = asyncio.Event()
            ended: List[str] = []

            @worker.task(fails)
            async def fail(ctx: everstep.TaskContext, inputs: Any) -> None:
                raise everstep.TaskFailed("NO_STOCK", "none left")

            @worker.task(hangs)
            async def hang(ctx: everstep.AsyncTaskContext, inputs: Any) -> None:
                begun.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.append("cleaned up")

            async with worker, everstep.AsyncClient(self.server.url) as client:
                run = await client.start(plan_of(fails, {"kind": fails}))
                self.assertEqual((await run.wait(20)).step("s1").error_code, "NO_STOCK")
                run = await client.start(plan_of(hangs, {"kind": hangs}))
                await asyncio.wait_for(begun.wait(), 20)
                await run.cancel()
                self.assertEqual((await run.wait(20)).status, "CANCELLED")
            self.assertEqual(ended, ["cleaned up"])

        asyncio.run(main())


class CrashTest(unittest.TestCase):
    """The server is killed and restarted while there is work."""

    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.remove)
        self.server.start()

    def crash_during(self, seen: Set[Tuple[str, str]], wanted: int) -> None:
        """Kills the server whenever a good part of the work is done."""
        for share in (0.2, 0.5, 0.8):
            while len(seen) < wanted * share:
                threading.Event().wait(0.002)
            self.server.crash()
            self.server.start()

    def test_every_run_completes_and_each_attempt_is_seen(self) -> None:
        worker = everstep.Worker(self.server.url, slots=8)
        seen: Set[Tuple[str, str]] = set()
        keys: Dict[Tuple[str, str], Set[str]] = {}

        @worker.task("crash.job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> str:
            step = (ctx.run_id, ctx.step_id)
            keys.setdefault(step, set()).add(ctx.idempotency_key)
            threading.Event().wait(0.005)
            seen.add(step)
            return ctx.step_id

        plan = plan_of(
            "crash", *({"kind": "crash.job"} for _ in range(5)), outputs="{{ steps.s5.result }}"
        )
        with everstep.Client(self.server.url, retry_for=60) as client, worker:
            runs = [client.start(plan) for _ in range(40)]
            self.crash_during(seen, 200)
            self.assertEqual([run.result(60) for run in runs], ["s5"] * 40)
            for run in runs:
                for step in run.get().steps:
                    self.assertEqual(step.logical_attempt, 1)
        self.assertEqual(len(seen), 200)
        # However often it was delivered, a logical attempt has one key.
        self.assertEqual({len(each) for each in keys.values()}, {1})

    def test_the_async_worker_and_the_follower_come_back(self) -> None:
        async def main() -> None:
            worker = everstep.AsyncWorker(self.server.url, slots=8)
            seen: Set[Tuple[str, str]] = set()

            @worker.task("crash.async")
            async def job(ctx: everstep.TaskContext, inputs: Any) -> None:
                await asyncio.sleep(0.005)
                seen.add((ctx.run_id, ctx.step_id))

            plan = plan_of("crash-async", *({"kind": "crash.async"} for _ in range(100)))
            client = everstep.AsyncClient(self.server.url, retry_for=60)
            async with worker, client:
                run = await client.start(plan)

                async def follow() -> List[everstep.Event]:
                    return [event async for event in run.follow()]

                follower = asyncio.ensure_future(follow())
                await asyncio.to_thread(self.crash_during, seen, 100)
                self.assertEqual((await run.wait(60)).status, "COMPLETED")
                events = await asyncio.wait_for(follower, 30)
                self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
                self.assertEqual(events[-1].type, "RunCompleted")
            self.assertEqual(len(seen), 100)

        asyncio.run(main())

    def test_a_server_that_stops_and_starts_loses_nothing(self) -> None:
        worker = everstep.Worker(self.server.url, slots=4)
        begun = threading.Event()

        @worker.task("rolling.job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> str:
            begun.set()
            threading.Event().wait(0.05)
            return "done"

        plan = plan_of("rolling", *({"kind": "rolling.job"} for _ in range(6)))
        with everstep.Client(self.server.url, retry_for=60) as client, worker:
            runs = [client.start(plan) for _ in range(4)]
            self.assertTrue(begun.wait(20))
            self.assertEqual(self.server.stop(), 0)
            self.server.start()
            for run in runs:
                self.assertEqual(run.wait(60).status, "COMPLETED")


if __name__ == "__main__":
    unittest.main()
