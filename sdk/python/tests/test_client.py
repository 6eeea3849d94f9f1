"""The clients against the real server."""

from __future__ import annotations

import asyncio
import io
import threading
import unittest
from typing import Any, List

import everstep

from .server import ServerTest, plan_of

HELLO = """
metadata: {planId: hello, planVersion: "1.0"}
inputs: {name: {type: string, default: world}}
steps:
  - {stepId: greet, kind: echo, inputs: {message: "Hello, {{ inputs.name }}"}}
outputs: {said: "{{ steps.greet.result.message }}"}
"""

APPROVAL = """
metadata: {planId: sign-off, planVersion: "1.0"}
inputs: {token: {type: string, required: true}}
steps:
  - {stepId: ask, waitFor: {approval: {prompt: "Yes?", token: "{{ inputs.token }}"}}}
outputs: {by: "{{ steps.ask.result.by }}"}
"""


class ClientTest(ServerTest):
    def setUp(self) -> None:
        self.client = everstep.Client(self.server.url)
        self.addCleanup(self.client.close)

    def waiting_run(self, token: str) -> everstep.Run:
        run = self.client.start(APPROVAL, {"token": token})
        for event in run.follow():
            if event.type == "HookCreated":
                return run
        raise AssertionError("the run does not wait")

    def test_a_run_gives_its_result(self) -> None:
        run = self.client.start(HELLO, {"name": "Ada"})
        self.assertEqual(run.result(20), {"said": "Hello, Ada"})
        view = run.get()
        self.assertEqual((view.status, view.step("greet").status), ("COMPLETED", "SUCCESS"))
        self.assertIn(run.id, [summary.run_id for summary in self.client.list(plan_id="hello")])

    def test_the_same_request_is_the_same_run(self) -> None:
        first = self.client.start(HELLO, request_id="order-7")
        again = self.client.start(HELLO, request_id="order-7")
        self.assertEqual(first.id, again.id)
        self.assertTrue(again.started and again.started.existing)

    def test_a_registered_plan_is_started_by_its_name(self) -> None:
        plan = self.client.register_plan(HELLO.replace("hello", "named"))
        self.assertEqual((plan.plan_id, plan.plan_version), ("named", "1.0"))
        run = self.client.start(plan_id="named", inputs={"name": "Bob"})
        self.assertEqual(run.result(20), {"said": "Hello, Bob"})
        self.assertIn("named", [entry.plan_id for entry in self.client.plans()])
        self.assertIn("planId: named", self.client.plan("named", "1.0"))
        self.assertEqual(self.client.check_plan(HELLO).steps, 1)

    def test_mistakes_are_named(self) -> None:
        with self.assertRaises(everstep.EverstepError) as caught:
            self.client.start("metadata: {planId: x}\nsteps: []")
        self.assertEqual((caught.exception.code, caught.exception.status), ("INVALID_PLAN", 422))
        self.assertTrue(caught.exception.faults)
        with self.assertRaises(everstep.EverstepError) as caught:
            self.client.get("nobody")
        self.assertEqual((caught.exception.code, caught.exception.status), ("RUN_NOT_FOUND", 404))

    def test_a_failed_run_raises_its_error(self) -> None:
        run = self.client.start(plan_of("fails", {"kind": "sleep", "inputs": {"no": "thing"}}))
        with self.assertRaises(everstep.RunFailed) as caught:
            run.result(20)
        self.assertEqual(caught.exception.run_status, "FAILED")

    def test_waiting_has_an_end(self) -> None:
        run = self.waiting_run("never-asked")
        with self.assertRaises(TimeoutError):
            run.wait(0.05)
        self.assertTrue(run.why().blockers)

    def test_a_hook_takes_an_answer(self) -> None:
        run = self.waiting_run("ask-me")
        self.assertEqual(self.client.hook("ask-me").run_id, run.id)
        self.client.heartbeat_hook("ask-me")
        self.client.deliver("ask-me", {"approved": True, "by": "Eve"})
        self.assertEqual(run.wait(20).status, "COMPLETED")

    def test_a_hook_can_be_failed(self) -> None:
        run = self.waiting_run("ask-in-vain")
        self.client.fail_hook("ask-in-vain", "NOBODY_HOME", "the office is closed")
        self.assertEqual(run.wait(20).error_code, "NOBODY_HOME")

    def test_a_run_is_paused_resumed_and_cancelled(self) -> None:
        run = self.waiting_run("patience")
        self.assertEqual(run.pause("lunch").decision, "ACCEPTED")
        self.assertEqual(run.get().status, "PAUSED")
        self.assertEqual(run.resume().decision, "ACCEPTED")
        self.assertEqual(run.cancel("enough").decision, "ACCEPTED")
        self.assertEqual(run.wait(20).status, "CANCELLED")

    def test_the_log_is_read_and_followed(self) -> None:
        run = self.client.start(HELLO)
        followed = list(run.follow())
        self.assertEqual(followed[-1].type, "RunCompleted")
        self.assertEqual(followed, list(run.events()))
        self.assertEqual([event.seq for event in followed], list(range(1, len(followed) + 1)))
        self.assertEqual(list(run.follow(after=followed[-2].seq)), followed[-1:])

    def test_artifacts_come_back_as_they_were(self) -> None:
        data = bytes(range(256)) * 5000
        artifact = self.client.put_artifact(data, name="all.bin")
        self.assertEqual(artifact.size_bytes, len(data))
        file = io.BytesIO()
        self.assertEqual(self.client.save_artifact(artifact, file), len(data))
        self.assertEqual(file.getvalue(), data)
        with self.assertRaises(everstep.EverstepError) as caught:
            self.client.save_artifact("0" * 64, io.BytesIO())
        self.assertEqual(caught.exception.code, "ARTIFACT_NOT_FOUND")

    def test_threads_share_a_client(self) -> None:
        results: List[Any] = []

        def use() -> None:
            results.append(self.client.start(HELLO).result(30))

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [{"said": "Hello, world"}] * 8)


class AsyncClientTest(ServerTest):
    def test_many_runs_at_a_time(self) -> None:
        async def main() -> List[Any]:
            async with everstep.AsyncClient(self.server.url) as client:

                async def one(number: int) -> Any:
                    run = await client.start(HELLO, {"name": str(number)})
                    return await run.result(30)

                return await asyncio.gather(*(one(number) for number in range(20)))

        said = [result["said"] for result in asyncio.run(main())]
        self.assertEqual(said, [f"Hello, {number}" for number in range(20)])

    def test_the_calls_are_those_of_the_other_client(self) -> None:
        async def main() -> None:
            async with everstep.AsyncClient(self.server.url) as client:
                run = await client.start(APPROVAL, {"token": "async-ask"})
                async for event in run.follow():
                    if event.type == "HookCreated":
                        break
                await run.pause()
                await run.resume()
                await client.heartbeat_hook("async-ask")
                await client.deliver("async-ask", {"approved": True, "by": "Eve"})
                self.assertEqual((await run.wait(20)).status, "COMPLETED")
                followed = [event async for event in run.follow()]
                self.assertEqual(followed, [event async for event in run.events()])
                data = b"x" * 3_000_000
                artifact = await client.put_artifact(data)
                file = io.BytesIO()
                await client.save_artifact(artifact, file)
                self.assertEqual(file.getvalue(), data)
                with self.assertRaises(everstep.EverstepError) as caught:
                    await client.get("nobody")
                self.assertEqual(caught.exception.code, "RUN_NOT_FOUND")

        asyncio.run(main())

    def test_all_runs_are_followed_from_now_on(self) -> None:
        async def main() -> None:
            async with everstep.AsyncClient(self.server.url) as client:
                seen: List[str] = []
                run_ids: List[str] = []

                async def watch() -> None:
                    async for event in client.follow(type="RunCompleted"):
                        seen.append(event.type)
                        return

                watcher = asyncio.ensure_future(watch())
                # There is no sign that the stream has started: start runs until it sees one.
                while not watcher.done():
                    run = await client.start(HELLO)
                    run_ids.append(run.id)
                    await run.wait(20)
                    await asyncio.wait([watcher], timeout=0.05)
                await watcher
                self.assertEqual(seen, ["RunCompleted"])

        asyncio.run(asyncio.wait_for(main(), 30))


if __name__ == "__main__":
    unittest.main()
