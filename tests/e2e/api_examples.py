"""Runs every example of schemas/openapi.json against a server, in an order that makes sense.

usage: api_examples.py PROGRAM FOLDER SOURCE_DIR
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
from urllib.parse import quote, urlencode

from api_client import PROBLEM, STREAM, Client, Document, Server

# Operation and example. What answers make up (ids of workers, tokens of tasks) stands in the document as
# something else; what the document says in an answer is replaced by what the server said, from then on.
SCENARIO = """
getLiveness alive, getReadiness ready, getOpenApi document, getErrorPage page, getErrorPage unknown
checkPlan good, checkPlan bad, registerPlan register, registerPlan again, listPlans first
getPlan versions, getPlanVersion document, getPlanVersion unchanged, getPlanGraph mermaid, getPlanGraph dot
startRun registered, startRun document, startRun approval, startRun worker, startRun hook
startRun scope, startRun later, startRun waited
getRun ended, getRun unchanged, listRuns all, listRuns filtered, countRuns counts
getSnapshot now, getSnapshot past, listSteps steps, getStep step, explainRun approval
sendSignal pause, sendSignal resume, listSignals decisions, cancelRun cancel, approveRun approve
getHook waiting, deliverHook approve, receiveWebhook forged, receiveWebhook signed
appendEvents one, appendEvents list, appendEvents lines, appendEvents scope
listRunEvents page, listRunEvents contract, listRunEvents stream
listEvents page, listEvents since, listEvents stream
writeStream chunk, listStreams streams, readStream page, readStream stream
listMessages dead, replayMessage unknown, removeMessage unknown, callWorld unreadable
registerWorker register, listWorkers workers, setQueue limit, listQueues queues
pollWork take, pollWork alive, pollWork done, pollWork late, drainWorker drain, removeWorker remove
putArtifact note, getArtifact note
putSink make, listSinks sinks, getSink sink, putSink change, pauseSink pause, resumeSink resume
listPending pending, listDeadLetters letters, getDeadLetter missing, replayDeadLetters dry
replayDeadLetters replay, purgeDeadLetters purge, removeSink remove
putInboundRule make, listInboundRules rules, receiveEvents unmatched, receiveSignedEvents forged
removeInboundRule remove
createToken operator, listTokens tokens, rotateToken rotate, revokeToken revoke
listAlerts alerts, listAudit page, getMetrics metrics
"""
SIGNED = ("receiveWebhook", "signed")
MADE_UP = {"workerId", "tokenId", "token"}

failures = 0


def report(sentence, faults):
    global failures
    print(("not ok - " if faults else "ok - ") + sentence)
    for fault in faults:
        print("#   " + fault.replace("\n", "\n#   "))
    failures += bool(faults)


def examples_of(document):
    """{(operation, example): (status, media type, answer)}"""
    found = {}
    for name, operation in document.operations.items():
        for status, answer in operation["responses"].items():
            for example in answer.get("x-examples", []):
                found[name, example] = (int(status), None, None)
            for media, content in answer.get("content", {}).items():
                for example, words in content.get("examples", {}).items():
                    found[name, example] = (int(status), media, words["value"])
    return found


class Player:
    def __init__(self, document, server):
        self.document = document
        self.server = server
        self.client = Client(server)
        self.meanings = {}  # what the document says -> what it is here
        self.etags = {}
        self.calls = 0

    def play(self, name, example, wanted):
        operation = self.document.operations[name]
        target, headers = self.target_of(operation, example)
        status, media, said = wanted
        open_to_all = operation.get("security") == []
        token = None if open_to_all else self.server.token
        if media == STREAM:
            ends = "/runs/" in target  # with its run; the others are cut off after an event
            answer = self.client.follow(
                target, token, lambda text: not ends and re.search(r"\nid: .*\n.*\n.*\n\n", text))
            faults = stream_faults(answer) if name != "readStream" else chunk_faults(answer)
        else:
            media_sent, body = self.body_of(operation, example)
            if media_sent:
                headers.append(("Content-Type", media_sent))
            if operation["method"] == "POST":
                self.calls += 1
                headers.append(("Idempotency-Key", f"example-{self.calls}"))
            if (name, example) == SIGNED:
                headers = self.signed_now(operation, headers, body)
            answer = self.client.call(operation["method"], target, headers, body, token)
            self.etags[operation["operationId"]] = answer.headers.get("ETag")
            faults = self.document.faults(operation, answer)
        if answer.status != status:
            faults.append(f"the status is {answer.status}, not {status}")
        if media and answer.media() != media:
            faults.append(f"the media type is {answer.media()!r}, not {media}")
        if faults:
            faults.append(answer.body.decode("utf-8", "replace")[:500])
        elif operation["method"] == "POST" and media == "application/json":
            self.learn(said, answer.json())
        faults += learned_faults(name, example, said, answer)
        report(f"{name} {example}", faults)

    def target_of(self, operation, example):
        path, query, headers = operation["path"], {}, []
        for parameter in map(self.document.resolve, operation["parameters"]):
            words = parameter.get("examples", {}).get(example)
            if words is None:
                continue
            value = self.meanings.get(words["value"], words["value"])
            if parameter["in"] == "path":
                path = path.replace("{%s}" % parameter["name"], quote(str(value), safe=""))
            elif parameter["in"] == "query":
                query[parameter["name"]] = value
            else:
                headers.append((parameter["name"], value))
        target = path + ("?" + urlencode(query) if query else "")
        # What the call before said it is, not what it is in the document.
        etag = self.etags.get(operation["operationId"])
        headers = [(name, etag if etag and name == "If-None-Match" else value) for name, value in headers]
        return target, headers

    def signed_now(self, operation, headers, body):
        """The example as it would be sent today: a signature does not hold for long. The one in the document
        has to be right, too."""
        secret = base64.b64decode(re.search("whsec_([A-Za-z0-9+/=]+)", operation["description"])[1])

        def signature(at):
            content = f"{said['webhook-id']}.{at}.".encode() + body
            return "v1," + base64.b64encode(hmac.digest(secret, content, hashlib.sha256)).decode()

        said = dict(headers)
        if said["webhook-signature"] != signature(said["webhook-timestamp"]):
            raise ValueError("the signature in the document is not that of its body")
        now = str(int(time.time()))
        return [*{**said, "webhook-timestamp": now, "webhook-signature": signature(now)}.items()]

    def body_of(self, operation, example):
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            if example in content.get("examples", {}):
                value = content["examples"][example]["value"]
                text = json.dumps(value) if media.endswith("json") else value
                for said, meant in self.meanings.items():
                    text = text.replace(said, meant)
                return media, text.encode()
        return None, None

    def learn(self, said, got, key=""):
        if isinstance(said, dict) and isinstance(got, dict):
            for name in said.keys() & got.keys():
                self.learn(said[name], got[name], name)
        elif isinstance(said, list) and isinstance(got, list):
            for one, other in zip(said, got):
                self.learn(one, other, key)
        elif key in MADE_UP and said != got:
            self.meanings[said] = got


def chunk_faults(answer):
    text = answer.body.decode("utf-8")
    wanted = ("id: 0\n", "event: chunk\n", "event: end\n")
    return [f"there is no {line!r}" for line in wanted if line not in text]


def stream_faults(answer):
    whole = answer.body.decode().rpartition("\n\n")[0]  # the last may be cut off
    frames = [frame for frame in whole.split("\n\n") if "data: " in frame]
    faults = [] if frames else ["the stream has no event"]
    places = []
    for frame in frames:
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        if fields.get("event") != json.loads(fields["data"]).get("eventType"):
            faults.append(f"an event of another name: {frame[:100]}")
        if "id" in fields:
            places.append(int(fields["id"]))
    # A place stands behind all that was read with it, so that nobody who comes back misses an event.
    if not places or places != sorted(set(places)):
        faults.append(f"the places are {places}")
    return faults


def learned_faults(name, example, said, answer):
    """What an example promises beyond its schema: members of answers that do not depend on the machine."""
    promised = {("getRun", "ended"): ("status", "result"), ("getStep", "step"): ("hookToken", "status"),
                ("getHook", "waiting"): ("runId", "stepId", "planId", "kind", "prompt"), ("checkPlan", "bad"): ("code",),
                ("registerPlan", "register"): ("sha256", "planId", "planVersion"),
                ("putArtifact", "note"): ("uri", "sha256", "sizeBytes", "contentType", "name"),
                ("deliverHook", "approve"): ("runId",), SIGNED: ("runId", "token"), ("sendSignal", "pause"): ("decision", "signalId"),
                ("startRun", "approval"): ("status",), ("startRun", "later"): ("status", "startAt"),
                ("cancelRun", "cancel"): ("decision",), ("createToken", "operator"): ("roles", "name"),
                ("setQueue", "limit"): ("concurrency",)}
    faults = []
    if answer.media() in ("application/json", PROBLEM) and isinstance(said, dict):
        got = answer.json()
        for member in promised.get((name, example), ()):
            if got.get(member) != said[member]:
                faults.append(f"{member} is {got.get(member)!r}, not {said[member]!r}")
        counts = {"pollWork take": ("tasks", 1), "pollWork late": ("refused", 1), "listSteps steps": ("steps", 1)}
        for list_of, (member, size) in counts.items():
            if list_of == f"{name} {example}" and len(got.get(member, [])) != size:
                faults.append(f"{member} has not {size}: {json.dumps(got)[:300]}")
    return faults


def check_open_server(program, folder):
    """Without tokens pages of other sites may not call through the browser of who runs the server."""
    server = Server(program, folder, "--dev")
    client = Client(server)
    here = f"127.0.0.1:{server.port}"
    calls = [([], 200), ([("Host", here), ("Origin", f"http://{here}")], 200),
             ([("Origin", "http://localhost:3000")], 200), ([("Origin", "http://site.example")], 403),
             ([("Origin", "http://127.0.0.1.site.example")], 403), ([("Origin", "null")], 403),
             ([("Host", "site.example")], 403), ([("Host", "localhost.site.example:80")], 403)]
    faults = []
    for headers, wanted in calls:
        status = client.call("POST", "/v1/runs", headers, b"{}").status
        if (status == 403) != (wanted == 403):
            faults.append(f"{headers}: {status}")
    server.stop()
    report("a server without tokens is called from this machine alone", faults)


def settings_of(document, folder):
    """A file of settings with the secret that the signed example names."""
    secret = re.search("whsec_[A-Za-z0-9+/=]+", document.operations[SIGNED[0]]["description"])[0]
    os.makedirs(folder, exist_ok=True)
    for name, text in (("webhook.secret", secret), ("settings.yaml", "webhooks: {default: [file:webhook.secret]}")):
        with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    return f"{folder}/settings.yaml"


def main():
    program, folder, source_dir = sys.argv[1:]
    document = Document(source_dir)
    examples = examples_of(document)
    order = [tuple(entry.split()) for entry in re.split(r"[,\n]", SCENARIO) if entry.strip()]
    missing = examples.keys() - set(order)
    report("every example is in the scenario", [" ".join(entry) for entry in sorted(missing)])
    report("every entry of the scenario is an example",
           [" ".join(entry) for entry in order if entry not in examples])
    server = Server(program, folder, "--config", settings_of(document, folder))
    player = Player(document, server)
    for entry in order:
        try:
            player.play(*entry, examples[entry])
        except (OSError, ValueError, KeyError) as error:
            report(" ".join(entry), [f"{type(error).__name__}: {error}"])
            player.client.close()
    report("the document that is served is the one of the source",
           [] if player.client.call("GET", "/openapi.json").json() == document.root else ["it is another"])
    report("the server stops cleanly", [] if server.stop() == 0 else [server.output()[-1000:]])
    check_open_server(program, folder + "-open")
    sys.exit(failures > 0)


main()
