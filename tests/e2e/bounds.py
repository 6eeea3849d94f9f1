"""Sends small requests that cost a server a lot, and checks its resource usage. Usage: bounds.py PROGRAM FOLDER"""

import gzip
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

failures = 0
STOP_SECONDS = 2
SLACK_SECONDS = 0.5  # for this program to see that a process has ended, on a machine under load


def expect(sentence, condition, seen=""):
    global failures
    failures += not condition
    print(("ok - " if condition else "not ok - ") + sentence, f"({seen})" if seen and not condition else "",
          flush=True)


class Server:
    """`everstep serve` with tokens, on a free port."""

    def __init__(self, program, folder, settings="", stderr=subprocess.STDOUT, stop_seconds=STOP_SECONDS):
        Path(folder).mkdir(mode=0o700, exist_ok=True)
        Path(folder, "everstep.yaml").write_text(settings, encoding="utf-8")
        self.log = open(f"{folder}.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder, "--config", f"{folder}/everstep.yaml", "--listen", "127.0.0.1:0",
             "--drain-timeout", f"{stop_seconds}s"], stdout=self.log, stderr=stderr, stdin=subprocess.DEVNULL)
        found = None
        while not found and self.process.poll() is None:
            time.sleep(0.02)
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.output())
        self.port = int(found.group(1))
        self.admin = Path(folder, "admin-token").read_text(encoding="utf-8").strip()

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def ask(self, method, path, body=None, token=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        all_headers = {"Authorization": f"Bearer {token or self.admin}", **(headers or {})}
        try:
            connection.request(method, path, body, all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) // 1024

    def stop(self):
        begun = time.monotonic()
        self.process.terminate()
        code = self.process.wait(60)
        return code, time.monotonic() - begun


def cbor(value):
    """The subset of RFC 8949 that is needed here."""
    def head(major, number):
        if number < 24:
            return bytes([major << 5 | number])
        size = 1 if number < 256 else 2 if number < 65536 else 4
        return bytes([major << 5 | {1: 24, 2: 25, 4: 26}[size]]) + number.to_bytes(size, "big")
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def code_of(body):
    try:
        return json.loads(body).get("code")
    except ValueError:
        return None


def small_bodies_with_large_contents(server):
    aliases = "a: &a " + "x" * 100_000 + "\nb:\n" + "- *a\n" * 90_000
    status, body = server.ask("POST", "/v1/plans/check", aliases.encode(), headers={"Content-Type": "application/yaml"})
    expect("aliases of a large text are refused, with their position", b"aliases" in body and b'"line"' in body, body[:300])
    packed = {"Content-Encoding": "gzip"}
    bombs = {
        "/v1/devkit": b"\xa1\x65calls\x9a\x01\xe8\x48\x00" + b"\xf6" * 32_000_000,
        "/v1/workers/x/poll": b'{"heartbeats":[' + b"[]," * 10_000_000 + b"1]}",
        "/v1/runs": b'{"plan":[' + b"{}," * 2_700_000 + b"1]}",
    }
    for path, content in bombs.items():
        status, body = server.ask("POST", path, gzip.compress(content), headers=packed)
        expect(f"{path}: a small body that unpacks to a large one is refused", (status, code_of(body)) == (413, "CONTENT_TOO_LARGE"),
               (status, body[:200]))
        status, body = server.ask("POST", path, content)
        expect(f"{path}: a large body with millions of values is refused", status in (400, 413), (status, body[:200]))
    expect("all of that took little memory", server.resident_mb() < 700, server.resident_mb())


def many_changes_of_one_run(server):
    def call(kind, number, data):
        return {"m": "events.create", "type": kind, "runId": run, "correlationId": f"a{number}", "data": data}
    def batch(calls):
        return server.ask("POST", "/v1/devkit", cbor({"spec": 5, "calls": calls}))
    made = {"deploymentId": "d", "workflowName": "w", "input": b"x"}
    run = ""
    status, body = batch([call("run_created", 0, made)])
    found = re.search(rb"wrun_[0-9A-Z]{26}", body)
    expect("a run for an application", status == 200 and found, (status, body[:300]))
    run = found.group(0).decode()
    begun = time.monotonic()
    status, body = batch([call("attr_set", i, {"changes": [{"key": f"k{i % 60}", "value": str(i)}]}) for i in range(1000)])
    took = time.monotonic() - begun
    expect("a batch of a thousand attr_set of one run takes linear time", status == 200 and took < 10, (status, took))
    status, body = batch([{"m": "runs.get", "runId": run, "id": run}])
    values = dict(re.findall(rb"k(\d+)[\x61-\x63](\d+)", body))
    expect("the last value of each key wins", values == {b"%d" % (i % 60): b"%d" % i for i in range(940, 1000)},
           body[:400])


def many_faults(server):
    for template in ("{{", "{{ nope }}", "{{ steps.nope.result }}"):
        plan = ("metadata: {planId: p, planVersion: '1'}\nsteps:\n- {stepId: a, kind: noop, inputs: {x: [" +
                ",".join([f'"{template}"'] * 300_000) + "]}}\n")
        begun = time.monotonic()
        status, body = server.ask("POST", "/v1/plans/check", plan.encode(), headers={"Content-Type": "application/yaml"})
        took = time.monotonic() - begun
        expect(f"300,000 templates {template!r} are refused in linear time", status == 422 and took < 20, (status, took))
        expect("and reported with at most a hundred faults", 1 <= len(json.loads(body)["faults"]) <= 100, body[:300])


def large_answers(server):
    def batch(calls):
        return server.ask("POST", "/v1/devkit", cbor({"spec": 5, "calls": calls}))
    made = {"deploymentId": "d", "workflowName": "w", "input": b"x" * 4_000_000}
    status, body = batch([{"m": "events.create", "type": "run_created", "runId": "", "correlationId": "a", "data": made}])
    run = re.search(rb"wrun_[0-9A-Z]{26}", body).group(0).decode()
    status, body = batch([{"m": "runs.get", "runId": run, "id": run}] * 200)
    expect("the answers to a batch of an application are limited in size",
           status == 200 and 30_000_000 < len(body) < 40_000_000 and b"too large" in body, (status, len(body)))
    expect("answers beyond the limit are not built first", server.resident_mb() < 700, server.resident_mb())


def slow_bodies(program, folder):
    server = Server(program, f"{folder}/slow", "limits:\n  connections: 30\n  bodyTimeout: 1s\n")
    open_bodies = []
    for _ in range(60):
        body = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        body.sendall(b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        open_bodies.append(body)
    status, _ = server.ask("GET", "/v1/counts")
    expect("a client with a token is served while others hold every connection", status == 200, status)
    ended = set()
    begun = time.monotonic()
    while len(ended) < len(open_bodies) and time.monotonic() - begun < 20:
        for body in set(open_bodies) - ended:
            try:
                body.sendall(b"x")
                body.setblocking(False)
                if body.recv(4096) is not None:
                    ended.add(body)
            except BlockingIOError:
                pass
            except OSError:
                ended.add(body)
        time.sleep(0.2)
    expect("a body that is sent too slowly is cut off", len(ended) == len(open_bodies), len(ended))
    code, took = server.stop()
    expect("and the server stops in time", code == 0 and took < STOP_SECONDS, (code, took))


def references(step):
    return "".join(f"{{{{ steps.s{other}.result }}}}" for other in range(max(0, step - 20), step))


def stop_under_load(program, folder):
    server = Server(program, f"{folder}/loaded", stop_seconds=1)
    over = threading.Event()
    # Each check takes about a second of processor time, and longer when several run in parallel.
    large = "metadata: {planId: large, planVersion: '1'}\nsteps:\n" + "".join(
        f'- {{stepId: s{i}, kind: noop, inputs: {{x: "{references(i)}"}}}}\n' for i in range(12_000))
    small = "metadata: {planId: small, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]"
    acknowledged = []

    def press():
        while not over.is_set():
            server.ask("POST", "/v1/plans/check", large.encode(), headers={"Content-Type": "application/yaml"})

    def start():
        number = 0
        while not over.is_set():
            number += 1
            status, _ = server.ask("POST", "/v1/runs", json.dumps({"plan": small, "runId": f"run-{number}"}))
            if status in (200, 201):
                acknowledged.append(f"run-{number}")

    threads = [threading.Thread(target=press, daemon=True) for _ in range(10)]
    threads.append(threading.Thread(target=start, daemon=True))
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    while len(acknowledged) < 20 and time.monotonic() - begun < 60:
        time.sleep(0.05)
    expect("runs are started while others hold threads", len(acknowledged) >= 20, len(acknowledged))
    code, took = server.stop()
    over.set()
    expect("a server whose threads are busy stops within the drain timeout", took < 1 + SLACK_SECONDS, took)
    expect("it is stopped by force and logs that", code == 13 and "server.forced" in server.output(), (code, server.output()[-500:]))
    for thread in threads:
        thread.join()
    again = Server(program, f"{folder}/loaded")
    lost = [run for run in acknowledged if again.ask("GET", f"/v1/runs/{run}")[0] != 200]
    expect("every acknowledged run exists after the restart", not lost, (len(acknowledged), lost[:5]))
    code, took = again.stop()
    expect("an idle server stops without force", code == 0 and took < STOP_SECONDS, (code, took))


def stop_unread(program, folder):
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while os.write(write_end, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(write_end, True)
    server = Server(program, f"{folder}/unread", stderr=write_end)
    code, took = server.stop()
    expect("a server whose log output nobody reads stops in time", code == 13 and took < STOP_SECONDS + SLACK_SECONDS,
           (code, took))
    os.close(read_end)
    os.close(write_end)


def main(program, folder):
    server = Server(program, f"{folder}/first")
    small_bodies_with_large_contents(server)
    many_changes_of_one_run(server)
    many_faults(server)
    large_answers(server)
    code, took = server.stop()
    expect("an idle server stops without force", code == 0 and took < STOP_SECONDS, (code, took))
    stop_under_load(program, folder)
    stop_unread(program, folder)
    slow_bodies(program, folder)
    print("ok - that is all")
    return failures > 0


sys.exit(main(*sys.argv[1:3]))
