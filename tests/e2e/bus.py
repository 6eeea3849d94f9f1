"""Drives `everstep serve` and its sinks, and checks what the consumers received.

usage: bus.py PROGRAM DIRECTORY EVENTS SEED

Every consumer must have received the whole log of every run: in order, nothing missing, and nothing
twice unless a process was killed or did not answer.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from bus_nats import Nats

HERE = os.path.dirname(os.path.abspath(__file__))
SECRETS = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + base64.b64encode(b"n" * 32).decode()]
EVENTS_PER_RUN = 20
failures = 0


def expect(sentence, condition, detail=""):
    global failures
    print(("ok - " if condition else "not ok - ") + sentence, flush=True)
    if not condition:
        failures += 1
        print(f"#   {detail}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Process:
    """A program that is started, killed and started again on the same port."""

    def __init__(self, words, log):
        self.words, self.log, self.process = words, log, None

    def start(self):
        environment = {**os.environ, "BUS_SECRET": SECRETS[0]}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, env=environment)

    def kill(self, how=signal.SIGKILL):
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None


class Server(Process):
    def __init__(self, program, folder, *words):
        os.makedirs(folder, exist_ok=True)
        self.program, self.data, self.port = program, os.path.join(folder, "data"), free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        super().__init__([program, "serve", "--dev", "--data", self.data, "--listen",
                          f"127.0.0.1:{self.port}", *words], os.path.join(folder, "server.log"))

    def start(self):
        super().start()
        if not wait_for(lambda: self.call("GET", "/readyz")[0] == 200):
            raise RuntimeError("the server is not ready: " + open(self.log).read())

    def call(self, method, path, body=None, headers=None):
        """Returns (status, document); status 0 means no answer."""
        text = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
        text = text.encode() if isinstance(text, str) else text
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            connection.request(method, path, text, headers or {})
            answer = connection.getresponse()
            said = answer.read()
            return answer.status, json.loads(said) if said[:1] in (b"{", b"[") else said
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None

    def sink(self, name):
        return self.call("GET", f"/v1/sinks/{name}")[1] or {}

    def make(self, name, **definition):
        status, said = self.call("PUT", f"/v1/sinks/{name}", definition)
        if status not in (200, 201):
            raise RuntimeError(f"{name}: {status} {said}")

    def secret(self, key, value):
        subprocess.run([self.program, "secret", "set", key, "--data", self.data], input=value, text=True,
                       check=True, capture_output=True)

    def everstep(self, *words):
        done = subprocess.run([self.program, *words, "--server", self.address], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Receiver(Process):
    def __init__(self, folder, *secrets):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        super().__init__([sys.executable, os.path.join(HERE, "bus_receiver.py"), str(self.port), folder,
                          *(secrets or SECRETS[:1])], os.path.join(folder, "log"))

    def set(self, name, value):
        path = os.path.join(self.folder, name)
        if value is None:
            if os.path.exists(path):
                os.remove(path)
        else:
            with open(path + ".new", "w") as file:
                file.write(str(value))
            os.rename(path + ".new", path)

    def seen(self):
        try:
            with open(os.path.join(self.folder, "received")) as file:
                return [(run, int(seq), event) for run, seq, event in (line.split() for line in file)]
        except FileNotFoundError:
            return []


class Broker(Process):
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        super().__init__(["nats-server", "--addr", "127.0.0.1", "--port", str(self.port), "--jetstream",
                          "--store_dir", folder], os.path.join(folder, "log"))

    def start(self):
        super().start()
        if not wait_for(self.answers):
            raise RuntimeError("nats-server is not ready: " + open(self.log).read())

    def answers(self):
        try:
            Nats(self.port)
            return True
        except (OSError, EOFError):
            return False


def run_events(run, count=EVENTS_PER_RUN):
    """The log of a run: start, steps started and completed, completion."""
    yield {"eventType": "RunStarted", "runId": run}
    for step in range((count - 2) // 2):
        yield {"eventType": "StepStarted", "runId": run, "stepId": f"s{step}"}
        yield {"eventType": "StepCompleted", "runId": run, "stepId": f"s{step}",
               "payload": {"result": {"n": step, "text": "x" * 120}}}
    yield {"eventType": "RunCompleted", "runId": run}


def append(server, prefix, runs, at_once=25):
    """Appends runs, retrying until they are acknowledged. Returns {run: events}."""
    for first in range(0, runs, at_once):
        events = [event for number in range(first, min(runs, first + at_once))
                  for event in run_events(f"{prefix}-{number}")]
        while True:
            status, said = server.call("POST", "/v1/events", events)
            if status == 200:
                refused = [result for result in said["results"] if "appended" not in result]
                if refused:
                    raise RuntimeError(f"refused: {refused[0]}")
                break
            time.sleep(0.05)
    return {f"{prefix}-{number}": EVENTS_PER_RUN for number in range(runs)}


def judge(title, seen, wanted, duplicates_explained):
    """Compares what a consumer received with the acknowledged logs."""
    last, faults, twice = {}, [], 0
    for run, seq, event in seen:
        before = last.get(run, 0)
        if seq > before + 1:
            faults.append(f"{run}: {seq} came after {before}")
        twice += seq <= before
        last[run] = max(before, seq)
    missing = [f"{run}: {last.get(run, 0)} of {count}" for run, count in wanted.items()
               if last.get(run, 0) != count]
    expect(f"{title}: every event was received", not missing, missing[:5])
    expect(f"{title}: in order for each run", not faults, faults[:5])
    if not duplicates_explained:
        expect(f"{title}: none was received twice", twice == 0, f"{twice} were")
    else:
        print(f"# {title}: {twice} of {len(seen)} were received twice")


def webhook(receiver, **more):
    return {"kind": "webhook", "webhook": {"url": receiver.url, "secrets": ["secret:hook"], "timeoutMs": 5000},
            "delivery": {"backoffInitialMs": 20, "backoffMaxMs": 200}, **more}


def down_for_a_whole_load(program, folder, events):
    server, receiver = Server(program, folder), Receiver(os.path.join(folder, "receiver"))
    server.start()
    server.secret("hook", SECRETS[0])
    server.make("orders", **webhook(receiver))
    begun = time.monotonic()
    wanted = append(server, "load", events // EVENTS_PER_RUN)
    took = time.monotonic() - begun
    total = sum(wanted.values())
    sink = server.sink("orders")
    expect("a sink whose receiver is down is FAILING, with lag and without dead letters",
           sink["state"] == "FAILING" and sink["lag"] > 0 and sink["deadLetters"] == 0, sink)
    metrics = server.call("GET", "/metrics")[1].decode()
    expect("metrics show lag and age", 'everstep_sink_lag{tenant="default",sink="orders"}' in metrics
           and "everstep_sink_age_seconds" in metrics)
    receiver.start()
    begun = time.monotonic()
    arrived = wait_for(lambda: server.sink("orders").get("delivered", 0) >= total, 60)
    rate = total / (time.monotonic() - begun)
    print(f"# {total} events appended in {took:.1f} s, delivered afterwards at {rate:.0f}/s")
    expect("once the receiver is up, everything is delivered", arrived, server.sink("orders"))
    judge("after the outage", receiver.seen(), wanted, False)
    expect("and no lag remains", wait_for(lambda: server.sink("orders")["lag"] == 0), server.sink("orders"))
    server.kill(signal.SIGTERM)
    server.start()
    time.sleep(0.3)
    judge("after a restart", receiver.seen(), wanted, False)
    server.kill()
    receiver.kill()


def killed_on_every_side(program, folder, seed):
    dice = random.Random(seed)
    server, receiver = Server(program, folder), Receiver(os.path.join(folder, "receiver"))
    broker = Broker(os.path.join(folder, "nats"))
    for process in (server, receiver, broker):
        process.start()
    Nats(broker.port).make_stream("EVENTS", ["acme.events.>"])
    server.secret("hook", SECRETS[0])
    server.make("hook", **webhook(receiver))
    server.make("bus", kind="nats", nats={"servers": [broker.url], "timeoutMs": 1000},
                topic="acme.events.{tenant}.{type}", cloudEvents="binary",
                delivery={"backoffInitialMs": 20, "backoffMaxMs": 200})
    wanted = {}
    loads = [threading.Thread(target=lambda n=n: wanted.update(append(server, f"kill{n}", 1500, 5)))
             for n in range(2)]
    for load in loads:
        load.start()
    kills = 0
    while any(load.is_alive() for load in loads) or kills < 18:
        victim = (server, broker, receiver)[kills % 3]
        time.sleep(dice.uniform(0.05, 0.3))
        victim.kill()
        time.sleep(dice.uniform(0, 0.2))
        victim.start()
        kills += 1
        if kills > 60:
            break
    for load in loads:
        load.join()
    total = sum(wanted.values())
    settled = wait_for(lambda: server.sink("hook").get("lag", 1) == 0 and server.sink("bus").get("lag", 1) == 0, 40)
    expect(f"after {kills} kills under load both sinks have caught up", settled,
           [server.sink("hook"), server.sink("bus")])
    judge("webhook", receiver.seen(), wanted, True)
    seen = []
    for subject, headers, body in Nats(broker.port).read("EVENTS"):
        event = json.loads(body)
        seen.append((event["runId"], event["runSeq"], event["eventId"]))
        if subject != f"acme.events.default.{event['eventType']}" or f"execution_id: {event['runId']}" not in headers:
            expect("subject and headers are those of the event", False, subject + headers)
            break
    judge("NATS", seen, wanted, False)  # message ids let the stream drop duplicates
    expect("CloudEvents' attributes are headers", "ce-type: dev.everstep." in headers
           and f"Nats-Msg-Id: {event['eventId']}" in headers, headers)
    letters = server.sink("hook")["deadLetters"] + server.sink("bus")["deadLetters"]
    expect("and no event became a dead letter", letters == 0, letters)
    print(f"# {total} events, {kills} kills")
    for process in (server, receiver, broker):
        process.kill()


def poisoned_and_slow(program, folder):
    server, receiver = Server(program, folder), Receiver(os.path.join(folder, "receiver"), *SECRETS)
    server.start()
    receiver.start()
    server.secret("hook", SECRETS[0])
    server.secret("next", SECRETS[1])
    definition = webhook(receiver)
    definition["delivery"]["attempts"] = 3
    server.make("orders", **definition)
    receiver.set("poison", "bad-0 5")
    wanted = append(server, "bad", 1) | append(server, "good", 200)
    good = {run: count for run, count in wanted.items() if run.startswith("good")}
    expect("events of other runs are delivered after a poisoned one",
           wait_for(lambda: server.sink("orders")["deadLetters"] == 16 and server.sink("orders")["lag"] == 0),
           server.sink("orders"))
    judge("other runs of a poisoned sink", [s for s in receiver.seen() if s[0] in good], good, False)
    seen = [seq for run, seq, _ in receiver.seen() if run == "bad-0"]
    expect("the poisoned run is held at its position", seen == [1, 2, 3, 4], seen)
    alerts = server.call("GET", "/v1/alerts")[1]["alerts"]
    expect("a P1 alert reports it",
           any(a["code"] == "EVENT_BUS_DELIVERY_FAILED" and a["severity"] == "P1" for a in alerts), alerts)
    code, said = server.everstep("dlq", "list", "orders", "--run", "bad-0")
    expect("dlq list shows it", code == 0 and "bad-0:5" in said and "HTTP 422" in said and "held" in said, said)
    code, said = server.everstep("dlq", "show", "orders", "bad-0:5")
    expect("dlq show prints what would be sent", code == 0 and "StepCompleted" in said, said)
    code, said = server.everstep("dlq", "replay", "orders", "--all", "--dry-run")
    expect("a dry run prints how many", code == 0 and "16 dead letters would be sent again" in said, said)
    code, said = server.everstep("dlq", "replay", "orders")
    expect("a replay without a selection is refused", code == 2, said)
    receiver.set("poison", None)
    code, said = server.everstep("dlq", "replay", "orders", "bad-0:5", "--rate", "100")
    expect("a replay of one letter includes the others of its run", code == 0 and "16 dead letters sent again" in said, said)
    expect("the replayed letters are gone", wait_for(lambda: server.sink("orders")["deadLetters"] == 0), server.sink("orders"))
    judge("after the replay", receiver.seen(), wanted, False)

    receiver.set("slow", "0.2")
    begun = time.monotonic()
    wanted |= append(server, "slow", 300)
    appended = time.monotonic() - begun
    behind = server.sink("orders")["lag"]
    expect("a slow consumer does not slow down appends", appended < 10 and behind > 0, f"{appended} s, lag {behind}")
    receiver.set("slow", None)
    expect("a slow consumer receives everything", wait_for(lambda: server.sink("orders")["lag"] == 0), server.sink("orders"))
    judge("slow consumer", receiver.seen(), wanted, False)

    # Both secrets sign during rotation; the receiver knows only the second one.
    receiver.kill()
    receiver.words[-2:] = SECRETS[1:]
    receiver.start()
    definition["webhook"]["secrets"] = ["secret:hook", "secret:next"]
    server.make("orders", **definition)
    wanted |= append(server, "rotated", 5)
    expect("a rotated secret takes effect", wait_for(lambda: server.sink("orders")["lag"] == 0), server.sink("orders"))
    judge("rotated", receiver.seen(), wanted, False)

    receiver.set("redirect", "http://127.0.0.1:9/")
    wanted |= append(server, "redirected", 1)
    expect("a redirect is refused, not followed",
           wait_for(lambda: "redirects are not followed" in server.sink("orders").get("lastFailure", "")),
           server.sink("orders"))
    receiver.set("redirect", None)
    wait_for(lambda: server.sink("orders")["lag"] == 0)
    server.everstep("dlq", "replay", "orders", "--all")
    expect("refused events can be sent again",
           wait_for(lambda: server.sink("orders")["deadLetters"] == 0), server.sink("orders"))

    receiver.set("status", "410")
    wanted |= append(server, "gone", 1)
    expect("410 disables the sink", wait_for(lambda: server.sink("orders")["state"] == "DISABLED"),
           server.sink("orders"))
    receiver.set("status", None)
    server.kill()
    server.start()
    expect("it is still disabled after a restart", server.sink("orders")["state"] == "DISABLED", server.sink("orders"))
    code, said = server.everstep("sink", "resume", "orders")
    expect("sink resume enables it again", code == 0 and wait_for(lambda: server.sink("orders")["lag"] == 0), said)
    judge("after the sink was disabled", receiver.seen(), wanted, True)

    server.everstep("sink", "pause", "orders")
    wanted |= append(server, "paused", 2)
    code, said = server.everstep("outbox")
    expect("outbox shows the sinks", code == 0 and "PAUSED" in said and "orders" in said, said)
    code, said = server.everstep("outbox", "orders", "--limit", "3")
    expect("outbox SINK shows its undelivered events", code == 0 and "paused-0:1" in said and said.count("\n") == 4, said)
    server.everstep("sink", "resume", "orders")
    expect("a paused sink keeps its position", wait_for(lambda: server.sink("orders")["lag"] == 0))
    judge("after the pause", receiver.seen(), wanted, True)
    code, said = server.everstep("sink", "remove", "orders")
    expect("a sink can be removed", code == 0 and server.call("GET", "/v1/sinks/orders")[0] == 404, said)
    server.kill()
    receiver.kill()


def files_filters_and_the_servers_own(program, folder):
    os.makedirs(folder, exist_ok=True)
    own = os.path.join(folder, "own.yaml")
    with open(own, "w") as file:
        file.write(f"sinkId: all\nkind: file\nfrom: beginning\nfile: {{directory: {folder}/all}}\n"
                   "dialect: noetl\ncloudEvents: structured\n")
    os.chmod(own, 0o600)
    config = os.path.join(folder, "everstep.yaml")
    with open(config, "w") as file:
        file.write("sinks: {files: [own.yaml]}\n")
    server = Server(program, folder, "--config", config)
    server.start()
    server.make("steps", kind="file", filter={"types": ["StepCompleted"], "when": "event.payload.result.n > 2"},
                redact=["/payload/result/text"], file={"rotateBytes": 4096, "keep": 2})
    path = os.path.join(server.data, "sinks/default/steps")
    for part in range(4):
        append(server, f"file{part}", 10)
        caught_up = wait_for(lambda: all(s["lag"] == 0 for s in server.call("GET", "/v1/sinks")[1]["sinks"]))
    expect("both sinks catch up", caught_up, server.call("GET", "/v1/sinks"))
    lines = []
    names = sorted(os.listdir(path), key=lambda n: (n == "events.ndjson", int(re.sub(r"\D", "", n) or 0)))
    for name in names:
        lines += [json.loads(line) for line in open(os.path.join(path, name))]
    expect("a file sink rotates and keeps the configured number of files",
           2 <= len(names) <= 3 and names[-1] == "events.ndjson", names)
    expect("it contains what its filter selects", lines and all(
        e["eventType"] == "StepCompleted" and e["payload"]["result"]["n"] > 2 for e in lines), lines[:1])
    expect("with the text redacted", all(e["payload"]["result"]["text"] == "[redacted]" for e in lines), lines[:1])
    whole = [json.loads(line) for line in open(os.path.join(folder, "all/events.ndjson"))]
    expect("a sink in the settings receives every tenant's events, in its dialect, as CloudEvents",
           whole and all(e["specversion"] == "1.0" and "event_type" in e["data"] for e in whole), whole[:1])
    tenants = server.call("PUT", "/v1/sinks/x", {"kind": "file", "file": {"directory": "/tmp"}})
    expect("options reserved for the operator are refused to tenants",
           tenants[0] == 422 and tenants[1]["faults"][0]["pointer"] == "/file/directory", tenants)
    server.kill()
    # A line cut off by a crash was never acknowledged.
    with open(os.path.join(path, "events.ndjson"), "ab") as file:
        file.write(b'{"half":')
    server.start()
    append(server, "more", 1)
    wait_for(lambda: all(s["lag"] == 0 for s in server.call("GET", "/v1/sinks")[1]["sinks"]))
    for line in open(os.path.join(path, "events.ndjson")):
        json.loads(line)
    expect("the cut line is removed", True)
    server.kill()


def events_that_come_in(program, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "secret"), "w") as file:
        file.write(SECRETS[0])
    os.chmod(os.path.join(folder, "secret"), 0o600)
    config = os.path.join(folder, "everstep.yaml")
    with open(config, "w") as file:
        file.write("webhooks: {default: 'file:secret'}\n")
    server = Server(program, folder, "--config", config)
    server.start()
    plan = ("metadata: {planId: order, planVersion: '1'}\ninputs: {n: {type: integer, required: true}}\n"
            "steps:\n  - {stepId: paid, waitFor: {hook: {token: 'order-{{ inputs.n }}'}}}\n"
            "outputs: {n: '{{ inputs.n }}', by: '{{ steps.paid.result.by }}'}\n")
    expect("a plan is registered", server.call("POST", "/v1/plans", plan)[0] == 201)
    rules = {
        "start": {"types": ["com.acme.order.*"], "when": "event.data.n > 0",
                  "start": {"planId": "order", "inputs": {"n": "{{ event.data.n }}"}}},
        "paid": {"types": ["com.acme.paid"], "sources": ["/bank"],
                 "deliver": {"token": "order-{{ event.data.n }}", "payload": {"by": "{{ event.data.by }}"}}},
    }
    for name, rule in rules.items():
        status, said = server.call("PUT", f"/v1/inbound/rules/{name}", rule)
        expect(f"rule {name} is accepted", status == 201, said)

    def cloud(kind, source, number, **data):
        return {"specversion": "1.0", "id": f"{kind}-{number}", "source": source, "type": kind,
                "data": {"n": number, **data}}

    batch = [cloud("com.acme.order.made", "/shop", n) for n in (1, 2, 0)]
    headers = {"Content-Type": "application/cloudevents-batch+json"}
    status, said = server.call("POST", "/v1/inbound", batch, headers)
    runs = [[m.get("runId") for m in r["matches"]] for r in said["results"]]
    expect("a batch of CloudEvents starts a run for each event that the rule matches",
           status == 200 and [len(r) for r in runs] == [1, 1, 0], said)
    status, said = server.call("POST", "/v1/inbound", batch, headers)
    expect("a repeated event starts nothing",
           [m["duplicate"] for r in said["results"] for m in r["matches"]] == [True, True], said)
    server.kill()
    server.start()
    status, said = server.call("POST", "/v1/inbound", batch, headers)
    expect("a repeated event starts nothing after a crash either", [m["duplicate"] for r in said["results"] for m in r["matches"]] == [True, True], said)

    def signed(body, secret=SECRETS[0], number="msg-1", **more):
        text, moment = json.dumps(body), str(int(time.time()))
        key = base64.b64decode(secret.removeprefix("whsec_"))
        digest = hmac.new(key, f"{number}.{moment}.{text}".encode(), hashlib.sha256).digest()
        return server.call("POST", "/webhooks/default", text, {
            "webhook-id": number, "webhook-timestamp": moment,
            "webhook-signature": "v1," + base64.b64encode(digest).decode(), **more})

    paid = cloud("com.acme.paid", "/bank", 1, by="card")
    expect("a wrong signature is refused", signed(paid, SECRETS[1])[0] == 401)
    status, said = signed(paid, **{"Content-Type": "application/cloudevents+json"})
    expect("a signed CloudEvent completes a hook", status == 200 and said["results"][0]["matches"][0]["runId"] == runs[0][0], said)
    expect("and its run continues", wait_for(lambda: server.call("GET", f"/v1/runs/{runs[0][0]}")[1].get("status") == "COMPLETED"),
           server.call("GET", f"/v1/runs/{runs[0][0]}"))
    result = server.call("GET", f"/v1/runs/{runs[0][0]}")[1].get("result")
    expect("with the event's data", result == {"n": 1, "by": "card"}, result)
    binary = {"ce-specversion": "1.0", "ce-id": "b", "ce-source": "/bank", "ce-type": "com.acme.paid",
              "Content-Type": "application/json"}
    status, said = server.call("POST", "/v1/inbound", {"n": 2, "by": "cash"}, binary)
    expect("binary CloudEvents too", status == 200 and said["results"][0]["matches"][0]["runId"] == runs[1][0], said)
    status, said = server.call("POST", "/v1/inbound", {"n": 77, "by": "x"}, {**binary, "ce-id": "c"})
    expect("an event for an unknown hook is reported", said["results"][0]["matches"][0]["code"] == "HOOK_NOT_FOUND", said)
    expect("rules can be removed", server.call("DELETE", "/v1/inbound/rules/paid")[0] == 204)
    server.kill()


def examples_are_taken(program, folder):
    server = Server(program, folder)
    server.start()
    for part, path in (("sinks", "/v1/sinks/"), ("inbound", "/v1/inbound/rules/")):
        place = os.path.join(HERE, "../../examples", part)
        for name in sorted(os.listdir(place)):
            with open(os.path.join(place, name)) as file:
                answer = server.call("PUT", path + name.removesuffix(".yaml"), file.read())
            expect(f"examples/{part}/{name} is accepted", answer[0] == 201, answer)
    server.kill()


def main():
    program, folder, events, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    down_for_a_whole_load(program, os.path.join(folder, "down"), events)
    killed_on_every_side(program, os.path.join(folder, "killed"), seed)
    poisoned_and_slow(program, os.path.join(folder, "poisoned"))
    files_filters_and_the_servers_own(program, os.path.join(folder, "files"))
    events_that_come_in(program, os.path.join(folder, "inbound"))
    examples_are_taken(program, os.path.join(folder, "examples"))
    sys.exit(failures > 0)


main()
