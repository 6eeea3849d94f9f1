"""The worker and the clients with a scripted server."""

from __future__ import annotations

import asyncio
import socket
import threading
import unittest
from typing import Any, List, Optional

import everstep
from everstep.async_http import Connection
from everstep.endpoint import Endpoint
from everstep.follow import FollowState
from everstep.views import RunView

from .scripted_server import Reply, Request, ScriptedServer, ScriptedWork, problem, task


class WorkerProtocol(unittest.TestCase):
    def serve(self, work: ScriptedWork) -> str:
        server = ScriptedServer(work)
        self.addCleanup(server.__exit__)
        return server.url

    def test_quick_handlers_share_their_round_trips(self) -> None:
        work = ScriptedWork([task(f"t{i}", n=i) for i in range(100)])
        url = self.serve(work)

        async def main() -> None:
            worker = everstep.AsyncWorker(url, slots=10)

            @worker.task("job")
            def job(ctx: everstep.TaskContext, inputs: Any) -> Any:
                return {"twice": inputs["n"] * 2}

            async with worker:
                await asyncio.to_thread(work.wait_until, lambda: len(work.reports) == 100)

        asyncio.run(main())
        self.assertEqual(work.reports[7], {"token": "t7", "result": {"twice": 14}})
        polls = work.calls.count("POST poll")
        self.assertLessEqual(polls, 30)

    def test_a_report_does_not_wait_for_the_poll_that_waits(self) -> None:
        work = ScriptedWork([task("slow")])
        worker = everstep.Worker(self.serve(work), slots=2, wait=30)
        go = threading.Event()

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> None:
            go.wait(10)

        with worker:
            # The task, and then the poll that waits for the next one.
            self.assertTrue(work.wait_until(lambda: work.calls.count("POST poll") == 2))
            go.set()
            self.assertTrue(work.wait_until(lambda: work.reports == [{"token": "slow"}], 5))

    def test_leases_are_kept_by_heartbeats(self) -> None:
        work = ScriptedWork([task("a"), task("b", kind="silent")], lease_ms=90)
        worker = everstep.Worker(self.serve(work), slots=2)
        go = threading.Event()

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> None:
            go.wait(10)

        @worker.task("silent", auto_heartbeat=False)
        def silent(ctx: everstep.TaskContext, inputs: Any) -> None:
            ctx.heartbeat()
            go.wait(10)

        with worker:
            self.assertTrue(work.wait_until(lambda: work.heartbeats.count("a") >= 3))
            self.assertEqual(work.heartbeats.count("b"), 1)
            go.set()

    def test_what_is_not_wanted_any_more_reaches_the_handler(self) -> None:
        work = ScriptedWork([task("a")])
        worker = everstep.Worker(self.serve(work), slots=1)

        @worker.task("job")
        def job(ctx: everstep.ThreadTaskContext, inputs: Any) -> None:
            ctx.cancelled.wait(10)
            raise everstep.TaskCancelled("stopped")

        with worker:
            self.assertTrue(work.wait_until(lambda: work.calls.count("POST poll") == 2))
            with work.lock:
                work.stop.append("a")
                work.lock.notify_all()
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))
        self.assertEqual(work.reports[0]["error"]["code"], "CANCELLED")

    def test_a_worker_that_is_not_known_registers_again_and_forgets_its_leases(self) -> None:
        work = ScriptedWork([task("old")])
        lost = threading.Event()
        work.before_poll = lambda request: (
            problem(404, "WORKER_NOT_FOUND") if lost.is_set() and "/w1/" in request.path else None
        )
        worker = everstep.Worker(self.serve(work), slots=2, wait=0.2)
        seen: List[str] = []

        @worker.task("job")
        def job(ctx: everstep.ThreadTaskContext, inputs: Any) -> str:
            seen.append(ctx.step_id)
            if ctx.step_id == "old":
                ctx.cancelled.wait(10)
            return ctx.step_id

        with worker:
            self.assertTrue(work.wait_until(lambda: work.calls.count("POST poll") >= 2))
            lost.set()
            self.assertTrue(work.wait_until(lambda: work.registered == 2))
            with work.lock:
                work.waiting.append(task("new"))
                work.lock.notify_all()
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))
        self.assertEqual(work.reports, [{"token": "new", "result": "new"}])
        self.assertEqual(seen, ["old", "new"])

    def test_reports_whose_answer_was_lost_are_sent_again(self) -> None:
        work = ScriptedWork([task("a")])
        broken: List[Request] = []

        def script(request: Request) -> Optional[Reply]:
            body = request.body or {}
            if body.get("reports") and not broken:
                broken.append(request)
                return None
            return work(request)

        server = ScriptedServer(script)
        self.addCleanup(server.__exit__)
        worker = everstep.Worker(server.url)
        worker.task("job")(lambda ctx, inputs: 1)
        with worker:
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))
        self.assertEqual(work.reports, [{"token": "a", "result": 1}])

    def test_one_report_that_cannot_be_sent_does_not_hold_back_the_others(self) -> None:
        work = ScriptedWork([task(f"t{i}", n=i) for i in range(8)])

        def refuse_five(request: Request) -> Optional[Reply]:
            for report in request.body.get("reports", ()):
                if report.get("result") == 5:
                    return problem(413, "CONTENT_TOO_LARGE")
            return None

        work.before_poll = refuse_five
        worker = everstep.Worker(self.serve(work), slots=8)
        results: List[Any] = [0, 1, {2}, float("nan"), 4, 5, 6, "\ud800"]
        worker.task("job")(lambda ctx, inputs: results[inputs["n"]])
        with worker:
            self.assertTrue(work.wait_until(lambda: len(work.reports) == 8, 20))
        outcome = {
            report["token"]: report.get("result", report.get("error", {}).get("code"))
            for report in work.reports
        }
        self.assertEqual(
            [outcome[f"t{i}"] for i in range(8)],
            [0, 1, "RESULT_NOT_JSON", "RESULT_NOT_JSON", 4, "REPORT_REFUSED", 6, "RESULT_NOT_JSON"],
        )

    def test_a_token_that_is_not_valid_ends_the_worker(self) -> None:
        server = ScriptedServer(lambda request: problem(401, "UNAUTHENTICATED"))
        self.addCleanup(server.__exit__)
        worker = everstep.Worker(server.url, token="wrong")
        worker.task("job")(lambda ctx, inputs: None)
        with self.assertRaises(everstep.EverstepError) as caught:
            worker.start()
        self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
        self.assertEqual(server.requests[0].headers["Authorization"], "Bearer wrong")

    def test_a_page_of_a_proxy_is_no_answer(self) -> None:
        work = ScriptedWork([task("a")])
        pages = [Reply(200, b"<html>be right back</html>"), Reply(200, [1])]

        def script(request: Request) -> Optional[Reply]:
            return pages.pop() if pages else work(request)

        server = ScriptedServer(script)
        self.addCleanup(server.__exit__)
        worker = everstep.Worker(server.url)

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> None:
            pages.append(Reply(200, b"<html>again</html>"))

        with worker:
            self.assertTrue(work.wait_until(lambda: bool(work.reports)))

    def test_a_connection_that_is_not_made_is_no_answer(self) -> None:
        async def main() -> None:
            with socket.socket() as full, socket.socket() as first, socket.socket() as second:
                full.bind(("127.0.0.1", 0))
                full.listen(0)
                for each in (first, second):  # never accepted, so the next one cannot connect
                    each.setblocking(False)
                    each.connect_ex(full.getsockname())
                endpoint = Endpoint("http://127.0.0.1:%d" % full.getsockname()[1])
                with self.assertRaises(everstep.TransportError):
                    asking = Connection(endpoint).request("GET", "/", {}, None, 0.1)
                    await asyncio.wait_for(asking, 5)

        asyncio.run(main())

    def test_stopping_reports_what_runs_and_leaves(self) -> None:
        work = ScriptedWork([task("a")])
        worker = everstep.Worker(self.serve(work), slots=1)
        begun, go = threading.Event(), threading.Event()

        @worker.task("job")
        def job(ctx: everstep.TaskContext, inputs: Any) -> str:
            begun.set()
            go.wait(10)
            return "done"

        worker.start()
        begun.wait(10)
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        self.assertTrue(work.wait_until(lambda: work.draining))
        self.assertEqual(work.reports, [])
        go.set()
        stopper.join(10)
        self.assertEqual(work.reports, [{"token": "a", "result": "done"}])
        self.assertEqual(work.calls[-1], "DELETE w1")


class ClientProtocol(unittest.TestCase):
    def test_a_lost_answer_is_asked_for_again_with_the_same_key(self) -> None:
        def script(request: Request) -> Optional[Reply]:
            if len(server.requests) == 1:
                return None
            if len(server.requests) == 2:
                return problem(503, "NOT_READY", **{"Retry-After": "0"})
            return Reply(201, {"runId": "r1", "status": "RUNNING", "newer": 1})

        with ScriptedServer(script) as server:
            with everstep.Client(server.url) as client:
                self.assertEqual(client.start("steps: []").id, "r1")
            keys = {request.headers["Idempotency-Key"] for request in server.requests}
            self.assertEqual((len(server.requests), len(keys)), (3, 1))
            server.requests.clear()

            async def main() -> None:
                async with everstep.AsyncClient(server.url) as client:
                    self.assertEqual((await client.start({"steps": []})).id, "r1")

            asyncio.run(main())
            self.assertEqual(len(server.requests), 3)

    def test_a_refusal_is_an_error_with_its_code_and_faults(self) -> None:
        body = {
            "code": "INVALID_PLAN",
            "detail": "the plan has faults",
            "faults": [{"pointer": "/steps/0", "message": "no", "line": 3, "column": 1}],
        }
        with ScriptedServer(lambda request: Reply(422, body)) as server:
            client = everstep.Client(server.url)
            with self.assertRaises(everstep.EverstepError) as caught:
                client.start("x")
            client.close()
        self.assertEqual(caught.exception.status, 422)
        self.assertEqual(caught.exception.faults[0].line, 3)
        self.assertIn("/steps/0: no", str(caught.exception))
        self.assertEqual(len(server.requests), 1)

    def test_nobody_there_is_a_transport_error_after_the_time_for_retries(self) -> None:
        with ScriptedServer(lambda request: None) as server:
            url = server.url
        with self.assertRaises(everstep.TransportError):
            everstep.Client(url, retry_for=0.1).get("r1")

    def test_an_address_that_is_none_is_refused(self) -> None:
        for url in ("localhost:1", "ftp://host", "http://host/path"):
            with self.assertRaises(ValueError):
                everstep.Client(url)

    def test_a_stream_that_broke_goes_on_behind_its_last_event(self) -> None:
        def script(request: Request) -> Reply:
            if "event-stream" not in request.headers.get("Accept", ""):
                return Reply(
                    200, {"runId": "r", "status": "COMPLETED", "lastEventSeq": 4, "steps": []}
                )
            behind = int(request.headers.get("Last-Event-ID", "0"))
            text = "retry: 10\n\n: beat\n\n"
            for seq in range(behind + 1, behind + 3):
                text += f'id: {seq}\nevent: Step\ndata: {{"n":{seq}}}\n\n'
            # The last event is cut off.
            return Reply(200, (text + f"id: {behind + 3}\ndata: {{").encode())

        with ScriptedServer(script) as server:
            client = everstep.Client(server.url)
            events = list(client.follow("r"))
            client.close()

            async def main() -> List[everstep.Event]:
                async with everstep.AsyncClient(server.url) as aclient:
                    return [event async for event in aclient.follow("r")]

            self.assertEqual(asyncio.run(main()), events)
        self.assertEqual([event.seq for event in events], [1, 2, 3, 4])
        self.assertEqual(events[3].data, {"n": 4})

    def test_a_stream_that_broke_before_its_first_event_goes_on_where_it_began(self) -> None:
        state = FollowState(0)
        self.assertNotIn("Last-Event-ID", state.headers())
        for line in (b"retry: 1000\n", b"id: 7\n", b"\n"):
            self.assertIsNone(state.feed(line))
        self.assertEqual(state.headers()["Last-Event-ID"], "7")

    def test_the_end_of_a_run_is_the_end_of_its_stream(self) -> None:
        state = FollowState(0)
        self.assertFalse(state.is_over(RunView("r", "RUNNING", last_event_seq=1)))
        # Not everything was streamed: ask once more; then nothing is left (a filter removed the
        # rest).
        self.assertFalse(state.is_over(RunView("r", "FAILED", last_event_seq=2)))
        self.assertTrue(state.is_over(RunView("r", "FAILED", last_event_seq=2)))


if __name__ == "__main__":
    unittest.main()
