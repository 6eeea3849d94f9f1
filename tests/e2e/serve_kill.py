"""Kills `everstep serve` under HTTP load and checks from outside what it has kept.

usage: serve_kill.py PROGRAM DIRECTORY KILLS SOAK_SECONDS SEED

Clients repeat a request without an answer under the same key until it has one, as the
documentation tells them to. Only the answers that they got are judged.
"""

import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time

READY_WITHIN = 10  # seconds
END_WITHIN = 30  # seconds, without kills
APPENDERS = 3
STARTERS = 2
WORKERS = 2
GROWTH_MAX = 40 << 20  # bytes of resident memory in the second half of the soak: two buffers of the store

PLAN = """
metadata: {planId: killed, planVersion: "1"}
inputs: {n: {type: integer, required: true}}
steps:
  - {stepId: one, kind: far.away, inputs: {n: "{{ inputs.n }}"}}
  - {stepId: two, kind: far.away, inputs: {n: "{{ steps.one.result.n }}"}}
outputs: {n: "{{ steps.two.result.n }}"}
"""


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, directory, **settings):
        os.makedirs(directory, exist_ok=True)
        self.program = program
        self.environment = {**os.environ, **settings}
        self.data = os.path.join(directory, "data")
        self.log = os.path.join(directory, "server.log")
        self.port = free_port()
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            words = ["serve", "--dev", "--data", self.data, "--listen", f"127.0.0.1:{self.port}"]
            self.process = subprocess.Popen(
                [self.program, *words], stdout=log, stderr=log, env=self.environment
            )
        until = time.monotonic() + READY_WITHIN
        client = Client(self.port)
        while time.monotonic() < until:
            expect(self.process.poll() is None, f"the server ended: {self.said()}")
            answer = client.once("GET", "/readyz")
            if answer and answer[0] == 200:
                return
            time.sleep(0.01)
        raise Failure(f"not ready in {READY_WITHIN} s: {self.said()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        expect(self.process.wait(30) == 0, f"it did not stop cleanly: {self.said()}")

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) << 10


class Client:
    """One connection, reopened when it breaks."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def once(self, method, path, body=None, headers=None):
        """Returns status and document, or None if there was no answer."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            self.connection.request(method, path, body, headers or {})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return None
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(text) if is_json and text else text

    def until_answered(self, method, path, body, headers, stop):
        """Retries until there is an answer that does not ask to retry. None if asked to stop."""
        while not stop.is_set():
            answer = self.once(method, path, body, headers)
            if answer and answer[0] < 500 and answer[0] != 409:
                return answer
            time.sleep(0.01)
        return None


class Load:
    """Clients, and the answers they got."""

    def __init__(self, port):
        self.port = port
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.appended = {}  # (run, step) -> event id
        self.started = {}  # request id -> (run, n)
        self.answers = {}  # idempotency key -> (body, status, document)
        self.faults = []
        self.finished = False  # every run has ended
        self.last_request = 0
        self.threads = []

    def begin(self):
        makers = [self.append] * APPENDERS + [self.start_runs] * STARTERS
        makers += [self.do_tasks] * WORKERS
        for number, work in enumerate(makers):
            thread = threading.Thread(target=self.guard, args=(work, number), daemon=True)
            self.threads.append(thread)
            thread.start()

    def guard(self, work, number):
        try:
            work(number)
        except Exception as error:  # pylint: disable=broad-except
            self.faults.append(f"{work.__name__}: {error!r}")
            self.stop.set()

    def append(self, number):
        client = Client(self.port)
        count = 0
        while not self.stop.is_set():
            run = f"log-{number}-{count // 50}"
            step = f"s{count % 50}"
            # Naming the attempts keeps the event the same when it is sent again, also by a client
            # that got no answer before the server was killed.
            attempts = {"logicalAttemptId": 1, "engineAttemptId": 1}
            events = [{"eventType": "StepStarted", "runId": run, "stepId": step, **attempts}]
            if count % 50 == 0:
                events.insert(0, {"eventType": "RunStarted", "runId": run})
            headers = {"Idempotency-Key": f"{run}-{step}"}
            answer = client.until_answered(
                "POST", "/v1/events", json.dumps(events), headers, self.stop
            )
            if answer is None:
                return
            status, document = answer
            expect(status == 200, f"append of {run} {step}: {status} {document}")
            answer = document["results"][-1]
            expect("appended" in answer, f"append of {run} {step}: {answer}")
            with self.lock:
                self.appended[run, step] = answer["appended"]["eventId"]
            count += 1

    def start_runs(self, number):
        client = Client(self.port)
        while not self.stop.is_set():
            with self.lock:
                self.last_request += 1
                n = self.last_request
            body = json.dumps({"plan": PLAN, "inputs": {"n": n}, "requestId": f"req-{n}"})
            key = f"start-{number}-{n}"
            headers = {"Idempotency-Key": key}
            answer = client.until_answered("POST", "/v1/runs", body, headers, self.stop)
            if answer is None:
                return
            status, document = answer
            expect(status in (200, 201), f"start of req-{n}: {status} {document}")
            with self.lock:
                self.started[f"req-{n}"] = (document["runId"], n)
                self.answers[key] = (body, status, document)
            time.sleep(0.002)

    def do_tasks(self, number):
        client = Client(self.port)
        worker = None
        reports = []
        while True:
            if worker is None:
                spec = json.dumps({"kinds": ["far.away"], "slots": 50, "name": f"w{number}"})
                answer = client.once("POST", "/v1/workers", spec)
                if answer and answer[0] == 201:
                    worker = answer[1]["workerId"]
                elif self.finished:
                    return
                else:
                    time.sleep(0.01)
                continue
            body = json.dumps({"reports": reports, "max": 50, "waitMs": 200})
            answer = client.once("POST", f"/v1/workers/{worker}/poll", body)
            if answer is None or answer[0] == 404:
                worker = None  # its tasks are delivered again
                reports = []
                continue
            expect(answer[0] == 200, f"poll: {answer}")
            reports = [
                {"token": task["token"], "result": {"n": task["inputs"]["n"]}}
                for task in answer[1]["tasks"]
            ]
            if self.finished and not reports:
                return

    def settle(self):
        """Stops the producers and lets workers continue until every run has ended."""
        self.stop.set()
        for thread in self.threads[: APPENDERS + STARTERS]:
            thread.join(30)
            expect(not thread.is_alive(), "a client does not stop")
        expect(not self.faults, "; ".join(self.faults))
        client = Client(self.port)
        until = time.monotonic() + END_WITHIN
        while True:
            answer = client.once("GET", "/v1/runs?planId=killed&status=RUNNING&limit=1")
            expect(answer and answer[0] == 200, f"{answer}")
            if not answer[1]["runs"]:
                break
            expect(time.monotonic() < until, f"still running: {answer[1]['runs']}")
            time.sleep(0.05)
        self.finished = True
        for thread in self.threads:
            thread.join(30)
        expect(not self.faults, "; ".join(self.faults))


def events_of(client, run):
    events, after = [], 0
    while True:
        status, page = client.once("GET", f"/v1/runs/{run}/events?after={after}&limit=1000")
        expect(status == 200, f"events of {run}: {status} {page}")
        events += [item["event"] for item in page["events"]]
        if not page.get("more"):
            return events
        after = page["nextAfter"]


def judge(load, port):
    client = Client(port)
    kept = {}
    for run in sorted({run for run, _ in load.appended}):
        events = events_of(client, run)
        expect(
            [event["runSeq"] for event in events] == list(range(1, len(events) + 1)),
            f"{run} has a gap in its log",
        )
        for event in events[1:]:
            key = run, event["stepId"]
            expect(key not in kept, f"{key} is in the log twice")
            kept[key] = event["eventId"]
    for key, event_id in load.appended.items():
        expect(kept.get(key) == event_id, f"{key} was acknowledged as {event_id}: {kept.get(key)}")

    runs = {}
    cursor = ""
    while True:
        _, page = client.once("GET", f"/v1/runs?planId=killed&limit=1000&cursor={cursor}")
        runs.update({run["runId"]: run["status"] for run in page["runs"]})
        cursor = page.get("cursor", "")
        if not cursor:
            break
    expect(set(runs.values()) <= {"COMPLETED"}, f"runs that are not complete: {runs}")
    expect(
        len({run for run, _ in load.started.values()}) == len(load.started),
        "two requests were given one run",
    )
    # A request without an answer may have created a run too.
    extra = len(runs) - len(load.started)
    expect(0 <= extra <= STARTERS, f"{len(runs)} runs for {len(load.started)} acknowledged starts")
    for request, (run, n) in load.started.items():
        expect(run in runs, f"{request} was acknowledged as {run} but does not exist")
        _, view = client.once("GET", f"/v1/runs/{run}")
        expect(view["result"] == {"n": n}, f"{run} ended with {view.get('result')}, not {n}")
    return len(kept), len(runs)


def judge_keys(load, port):
    """Checks that repeating a request repeats its answer, whatever happened to the server since."""
    client = Client(port)
    for key, (body, status, document) in load.answers.items():
        headers = {"Idempotency-Key": key}
        again = client.once("POST", "/v1/runs", body, headers)
        expect(again == (status, document), f"{key} was answered {status} {document}, then {again}")
        other = client.once("POST", "/v1/runs", body.replace("req-", "other-"), headers)
        expect(other and other[0] == 422, f"{key} with another body is answered {other}")
    return len(load.answers)


def kill_rounds(server, kills, seed):
    rng = random.Random(seed)
    server.start()
    load = Load(server.port)
    load.begin()
    for _ in range(kills):
        time.sleep(rng.uniform(0.05, 0.6))
        expect(not load.faults, "; ".join(load.faults))
        server.kill()
        server.start()
    time.sleep(0.3)
    load.settle()
    events, runs = judge(load, server.port)
    keys = judge_keys(load, server.port)
    server.stop()
    verified = subprocess.run(
        [server.program, "log", "verify", "--store", os.path.join(server.data, "store")],
        capture_output=True,
        check=False,
    )
    expect(verified.returncode == 0, f"log verify: {verified.stdout} {verified.stderr}")
    print(f"ok - {kills} kills, {events} events and {runs} runs, each exactly once")
    print(f"ok - {keys} answers repeated, none to a different request")


def fill(port, seconds):
    """Writes enough to fill buffers and caches."""
    client = Client(port)
    steps = [{"eventType": "StepStarted", "runId": "RUN", "stepId": f"s{i}"} for i in range(999)]
    text = json.dumps([{"eventType": "RunStarted", "runId": "RUN"}, *steps])
    until = time.monotonic() + seconds
    count = 0
    while time.monotonic() < until:
        status, _ = client.once("POST", "/v1/events", text.replace("RUN", f"fill-{count}"))
        expect(status == 200, f"a large batch: {status}")
        count += 1
    return 1000 * count


def soak(server, seconds):
    server.start()
    filled = fill(server.port, seconds / 3)
    load = Load(server.port)
    load.begin()
    began = time.monotonic()
    sizes = []
    while time.monotonic() < began + 2 * seconds / 3:
        time.sleep(0.25)
        expect(not load.faults, "; ".join(load.faults))
        sizes.append(server.resident())
    load.settle()
    half = len(sizes) // 2
    before, after = max(sizes[:half]), max(sizes[half:])
    server.stop()
    text = f"{before >> 20} MB in the first half, {after >> 20} MB in the second"
    expect(after <= before + GROWTH_MAX, f"memory grows: {text}")
    events = filled + len(load.appended)
    print(f"ok - {seconds} s of load, {events} events, {len(load.started)} runs: {text}")


def main(program, directory, kills, seconds, seed):
    began = time.monotonic()
    killed = Server(program, os.path.join(directory, "killed"))
    # So few that answers are evicted all the time, in memory and in the store.
    soaked = Server(program, os.path.join(directory, "soaked"), EVERSTEP_IDEMPOTENCY_KEYS="2000")
    try:
        kill_rounds(killed, kills, seed)
        if seconds > 0:
            soak(soaked, seconds)
    finally:
        for server in (killed, soaked):
            if server.process is not None and server.process.poll() is None:
                server.kill()
    print(f"ok - in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    except Failure as failure:
        print(f"not ok - {failure}")
        sys.exit(1)
