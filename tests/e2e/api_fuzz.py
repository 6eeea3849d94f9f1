"""Sends requests that are invalid in every way that the document suggests, and checks the answers.

No answer may be an undocumented 5xx or take longer than five seconds. Every error must be a problem
with a code that has a page, every answer must match the document, and requests known to be invalid must
be refused. The server must survive all of it.

usage: api_fuzz.py PROGRAM FOLDER SOURCE_DIR [REQUESTS [SEED]]
"""

import collections
import copy
import gzip
import json
import random
import string
import sys
from urllib.parse import quote

from api_client import STREAM, Client, Document, Server

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
WRONG = (-1, 2**31, 2**32, 2**63, 2**64, 10**400, 1.5, "7", "", True, None, [], {}, [[]], {"a": 1}, "\x00",
         "é" * 300, "x" * 70_000, [None] * 20)
NOT_JSON = (b"", b"{", b"}", b"nonsense", b"{\"a\":}", b"[1,]", b"\xff\xfe{}", b"{\"a\":\"\xc3\x28\"}",
            b"{\"a\":\"\\ud800\"}", b"[" * 5_000, b"{\"a\":" * 2_000 + b"1" + b"}" * 2_000, b"\x00" * 20,
            b"{} {}", b"{\"a\":1e999}", b"{\"a\":01}", b"null", b"true", b"\"text\"", b"[]", b"[{}]", b"{}",
            b"{\"a\":1,\"a\":2}", b"\xef\xbb\xbf{}", b"{\"type\":\"PAUSE\",\"type\":\"PAUSE\"}")
ODD_IDS = ("x", "-", "..", ".", "%2e%2e", "%00", "%2f", "%2F..%2F..", "%ff", "%", "%zz", "a" * 129, "a" * 3_000,
           "%E2%82%AC", "%F0%9F%98%80", "a%20b", "a|b", "a%7Cb", "'", "%22", "*", "a%0d%0ab", "0", "~", "greeting-1",
           "release-2.4", "approve-2.4", "greeting", "1.0", "documents", "f" * 64)
ODD_VALUES = ("", "0", "-1", "1", "1.5", "x", "9223372036854775808", "99999999999999999999", "%ff", "%00", "%zz",
              "a" * 1_025, "2026-02-11", "2026-02-11T10:30:00Z", "2026-13-45T99:99:99Z", "native", "cloudevents",
              "RUNNING", "running", "true", "61s", "%2B1", "+", "1|2", "%F0%9F%98%80", "a%0Ab")
ODD_HEADERS = (("Idempotency-Key", "k" * 256), ("Idempotency-Key", "a key with spaces"), ("Idempotency-Key", "é"),
               ("Idempotency-Key", '"'), ("Idempotency-Key", "|/?#"), ("traceparent", "nonsense"),
               ("traceparent", "ff-" + "0" * 32 + "-" + "0" * 16 + "-00"), ("tracestate", "=,=,=" * 50),
               ("Accept", "image/png"), ("Accept", "*/*;q=0"), ("Accept", STREAM), ("Range", "bytes=5-1"),
               ("If-None-Match", "*"), ("If-None-Match", '"'), ("Last-Event-ID", "-1"),
               ("Last-Event-ID", "99999999999999999999"), ("Content-Type", "text/html"), ("Content-Type", ""),
               ("Content-Type", "application/json; charset=utf-16"), ("Content-Type", "application/x-ndjson"),
               ("Content-Encoding", "gzip"), ("Content-Encoding", "br"), ("Expect", "100-continue"),
               ("X-Long", "x" * 5_000), ("Accept-Encoding", "gzip"), ("webhook-id", "a"))
START = {"runId": "release-2.4", "plan": "metadata: {planId: release, planVersion: '1.0'}\nsteps: [{stepId: "
                                         "sign-off, waitFor: {approval: {prompt: go?, token: approve-2.4}}}]"}


class Request:
    def __init__(self, operation):
        self.operation = operation
        self.method = operation["method"]
        self.path = operation["path"]
        self.query = []  # raw "name=value"
        self.headers = []
        self.body = None
        self.token = True
        self.wrong = False  # known to be invalid: it must be refused
        self.elsewhere = False  # the path may match another operation
        self.what = ""

    def target(self):
        return self.path + ("?" + "&".join(self.query) if self.query else "")


class Fuzzer:
    def __init__(self, document, server, seed):
        self.document = document
        self.server = server
        self.random = random.Random(seed)
        self.client = Client(server)
        self.failures = collections.Counter()
        self.statuses = collections.Counter()
        self.ids = {}

    # ---- discovery
    def prepare(self):
        started = self.post("/v1/runs", START)
        worker = self.post("/v1/workers", {"kinds": ["fuzz.kind"]})
        token = self.post("/v1/tokens", {"name": "victim", "roles": ["viewer"]})
        self.ids = {"runId": [started["runId"]], "stepId": ["sign-off"], "token": ["approve-2.4"],
                    "workerId": [worker["workerId"]], "tokenId": [token["tokenId"]], "code": ["RUN_NOT_FOUND"]}

    def post(self, target, body):
        answer = self.client.call("POST", target, [("Content-Type", "application/json")],
                                  json.dumps(body).encode(), self.server.token)
        if answer.status not in (200, 201):
            raise SystemExit(f"{target}: {answer.status} {answer.body}")
        return answer.json()

    # ---- requests
    def base(self, operation):
        """Returns a valid or nearly valid request."""
        request = Request(operation)
        for parameter in map(self.document.resolve, operation["parameters"]):
            name = parameter["name"]
            examples = [words["value"] for words in parameter.get("examples", {}).values()]
            if parameter["in"] == "path":
                value = self.random.choice(self.ids.get(name, examples))
                request.path = request.path.replace("{%s}" % name, quote(str(value), safe=""))
            elif name.startswith("webhook-"):
                request.headers.append((name, examples[0]))
        contents = operation.get("requestBody", {}).get("content", {})
        for media, content in contents.items():
            values = [words["value"] for words in content.get("examples", {}).values()]
            if values:
                value = copy.deepcopy(self.random.choice(values))
                request.body = value
                request.headers.append(("Content-Type", media))
                break
        return request

    def mutated(self, operation):
        request = self.base(operation)
        ways = [self.odd_query, self.odd_path, self.odd_header, self.odd_method, self.odd_token]
        if operation.get("requestBody"):
            ways += [self.odd_member] * 6 + [self.odd_body] * 3
        way = self.random.choice(ways)
        way(request)
        request.what = f"{way.__name__} {request.what}"
        if isinstance(request.body, (dict, list)):
            request.body = json.dumps(request.body).encode()
        elif isinstance(request.body, str):
            request.body = request.body.encode()
        return request

    def odd_query(self, request):
        names = [parameter["name"] for parameter in map(self.document.resolve, request.operation["parameters"])
                 if parameter["in"] == "query"]
        known = [name for name in names if name != "wait"]  # a long wait is not invalid
        kind = self.random.randrange(5)
        if kind == 0 or not known:
            request.query = [self.random.choice(("unknown=1", "=", "&&&", "a" * 7_000, "%zz=1", "?", "#", "x" * 2_000))]
            request.wrong = request.query == ["unknown=1"] and request.path.startswith("/v1/")
        elif kind == 1:
            name = self.random.choice(known)
            request.query = [f"{name}=1", f"{name}=1"]
        elif kind == 2:
            request.query = [f"p{i}=1" for i in range(self.random.choice((5, 64, 65, 500)))]
        else:
            request.query = [f"{name}={self.random.choice(ODD_VALUES)}"
                             for name in self.random.sample(known, self.random.randint(1, min(3, len(known))))]
        request.what = request.target()[:200]

    def odd_path(self, request):
        parts = request.operation["path"].split("/")
        holes = [i for i, part in enumerate(parts) if part.startswith("{")]
        if not holes:
            request.path += self.random.choice(("/", "/x", "//", "/..", "%00", "/%2e%2e", ";a"))
        for hole in holes:
            parts[hole] = self.random.choice(ODD_IDS)
        if holes:
            request.path = "/".join(parts)
        request.elsewhere = True
        request.what = request.target()[:200]

    def odd_header(self, request):
        header = self.random.choice(ODD_HEADERS)
        request.headers = [entry for entry in request.headers if entry[0] != header[0]] + [header]
        if header == ("Content-Encoding", "gzip") and self.random.random() < 0.5:
            bomb = gzip.compress(b" " * self.random.choice((10, 10_000, 5_000_000)))
            request.body = bomb if self.random.random() < 0.5 else bomb[: len(bomb) // 2]
        request.what = str(header)[:100]

    def odd_method(self, request):
        request.method = self.random.choice(METHODS + ("get", "FOO", "A" * 50))
        for other in self.document.operations.values():  # the path may have this method too
            if (other["path"], other["method"]) == (request.operation["path"], request.method):
                request.operation = other
        request.what = request.method

    def odd_token(self, request):
        request.token = False
        value = self.random.choice((None, "", "Bearer", "Bearer ", "Bearer x", "Basic YTpi", "Bearer est_a_b",
                                    "Bearer " + "x" * 3_000, "bearer est_8fJk2Lm0Qw3z_" + "a" * 43))
        if value is not None:
            request.headers.append(("Authorization", value))
        request.wrong = request.operation.get("security") != []
        request.what = str(value)[:60]

    def odd_body(self, request):
        request.body = self.random.choice(NOT_JSON)
        if self.random.random() < 0.1:
            request.body = "".join(self.random.choices(string.printable, k=300)).encode()
        request.what = repr(request.body[:60])

    def odd_member(self, request):
        body = request.body
        if not isinstance(body, dict):
            return self.odd_body(request)
        schema = self.schema_of(request.operation)
        kind = self.random.randrange(4)
        if kind == 0:
            body["unknownMember"] = 1
            request.wrong = schema.get("additionalProperties") is False
        elif kind == 1 and body:
            name = self.random.choice(sorted(body))
            del body[name]
            request.wrong = name in schema.get("required", ())
        elif kind == 2:
            name = self.random.choice(sorted(schema.get("properties", {"x": {}})))
            body[name] = self.random.choice(WRONG)
            if body[name] not in (None, ""):  # these count as absent members
                request.wrong = bool(self.document.schema_faults(schema, body)) and "type" in schema.get(
                    "properties", {}).get(name, {})
        else:
            deepest = body
            for _ in range(self.random.choice((3, 70, 400))):
                deepest["inputs"] = {}
                deepest = deepest["inputs"]
        request.what = json.dumps(body)[:200]

    def schema_of(self, operation):
        content = operation["requestBody"]["content"].get("application/json", {"schema": {}})
        return self.document.resolve(content["schema"])

    # ---- answers
    def send(self, request):
        try:
            answer = self.client.call(request.method, request.target(), request.headers, request.body,
                                      self.server.token if request.token else None)
        except TimeoutError:
            return self.complain(request, "no answer in time")
        except (OSError, ValueError) as error:
            self.client.close()
            return self.complain(request, f"no answer: {type(error).__name__}: {error}")
        self.statuses[answer.status] += 1
        for fault in self.faults(request, answer):
            self.complain(request, fault, answer)

    def faults(self, request, answer):
        operation = request.operation
        known = str(answer.status) in operation["responses"]
        if answer.status >= 500 and not known and not (answer.status == 501 and request.method not in METHODS):
            yield f"the status {answer.status}"
        if request.wrong and answer.status < 400:
            yield f"it was taken ({answer.status})"
        if request.method == "HEAD":
            return
        try:
            if request.method == operation["method"] and known and not request.elsewhere:
                yield from self.document.faults(operation, answer)
            elif answer.status >= 400:
                yield from self.document.problem_faults(answer)
                # Errors of the connection, path or method: any call may get them.
                general = {404, 405, 408, 413, 414, 415, 417, 431, 501}
                if answer.status not in general and not known:
                    yield f"the status {answer.status} is not documented"
        except ValueError as error:
            yield f"the answer is not JSON: {error}"

    def complain(self, request, fault, answer=None):
        key = (request.operation["operationId"], fault[:80])
        self.failures[key] += 1
        if self.failures[key] > 1:
            return
        body = answer.body[:300] if answer else b""
        print(f"# {request.operation['operationId']}: {fault}")
        print(f"#   {request.method} {request.target()[:200]}  ({request.what})")
        print(f"#   sent {request.body[:200] if request.body else None} got {answer and answer.status} {body}")

    def run(self, requests):
        operations = list(self.document.operations.values())
        for number in range(requests):
            self.send(self.mutated(operations[number % len(operations)]))
            if not self.server.lives():
                self.failures["server", "it died"] += 1
                break


def main():
    program, folder, source_dir = sys.argv[1:4]
    requests = int(sys.argv[4]) if len(sys.argv) > 4 else 3_000
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 20260211
    document = Document(source_dir)
    server = Server(program, folder)
    fuzzer = Fuzzer(document, server, seed)
    fuzzer.prepare()
    fuzzer.run(requests)
    print(f"# {sum(fuzzer.statuses.values())} answers: {dict(sorted(fuzzer.statuses.items()))}")
    failed = {operation for operation, _ in fuzzer.failures}
    for name in [*document.operations, "server"]:
        print(f"{'not ok' if name in failed else 'ok'} - fuzzing {name}")
    alive = server.lives() and Client(server).call("GET", "/readyz").status == 200
    print(f"{'ok' if alive else 'not ok'} - the server is still ready afterwards")
    code = server.stop()
    print(f"{'ok' if code == 0 else 'not ok'} - the server stops cleanly afterwards")
    if not alive or code != 0:
        print("# " + server.output()[-2000:].replace("\n", "\n# "))
    sys.exit(bool(failed) or not alive or code != 0)


main()
