"""A running server, a small HTTP client that can also send malformed requests, and response validation."""

import atexit
import copy
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import jsonschema

TIMEOUT_S = 5
PROBLEM = "application/problem+json"
STREAM = "text/event-stream"


class Server:
    """`everstep serve` on a free port with its own data folder."""

    def __init__(self, program, folder, *options):
        self.log = open(f"{folder}.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder, "--listen", "127.0.0.1:0", *options], stdout=self.log,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)  # also when the script fails
        self.port = int(self._wait_for(r"listening on http://127\.0\.0\.1:(\d+)"))
        self.token = None
        if "--dev" not in options:
            self.token = Path(folder, "admin-token").read_text(encoding="utf-8").strip()

    def _wait_for(self, pattern):
        for _ in range(200):
            found = re.search(pattern, self.output())
            if found:
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("the server did not start:\n" + self.output())

    def output(self):
        return Path(self.log.name).read_text(encoding="utf-8")

    def lives(self):
        return self.process.poll() is None

    def stop(self):
        """Stops the server and returns its exit code; kills it if it does not stop in time."""
        if self.lives():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, signal.SIGKILL)
            return self.process.wait()


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def media(self):
        return self.headers.get("Content-Type", "").partition(";")[0].strip()

    def json(self):
        return json.loads(self.body)


class Client:
    """One connection, kept alive when possible. Sends exactly the given bytes."""

    def __init__(self, server):
        self.server = server
        self.socket = None

    def call(self, method, target, headers=(), body=None, token=None):
        lines = [f"{method} {target} HTTP/1.1"]
        if not any(name == "Host" for name, _ in headers):
            lines.append("Host: localhost")
        lines += [f"{name}: {value}" for name, value in headers]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        if body is not None or method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"
        kept = self.socket is not None
        try:
            return self._exchange(method, head + (body or b""))
        except (ConnectionError, http.client.BadStatusLine):
            self.close()
            if not kept:
                raise
            return self._exchange(method, head + (body or b""))  # it was closed between two calls

    def _exchange(self, method, request):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.server.port), TIMEOUT_S)
        try:
            self.socket.sendall(request)
        except ConnectionError:
            pass  # refused before everything was sent: the answer may have arrived
        response = http.client.HTTPResponse(self.socket, method=method)
        try:
            response.begin()
            stream = response.getheader("Content-Type", "").startswith(STREAM)
            body = b"" if stream else response.read()
            if response.getheader("Content-Encoding") == "gzip" and body:
                body = gzip.decompress(body)
        except TimeoutError:
            self.close()
            raise
        if stream or response.will_close:
            self.close()
        return Answer(response.status, response.headers, body)

    def follow(self, target, token, enough):
        """Reads a stream until it ends or `enough(text)` is true; returns the text."""
        self.close()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT_S)
        connection.request("GET", target, headers={"Accept": STREAM, "Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        text = b""
        while not enough(text.decode()):
            piece = response.read1(65536)
            if not piece:
                break
            text += piece
        connection.close()
        return Answer(response.status, response.headers, text)

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Document:
    """The OpenAPI document: the operations, and validation of their answers."""

    def __init__(self, source_dir):
        self.root = json.loads(Path(source_dir, "schemas/openapi.json").read_text(encoding="utf-8"))
        self.pages = {page.stem for page in Path(source_dir, "docs/errors").glob("*.md")}
        self.operations = {}
        for path, item in self.root["paths"].items():
            for method, operation in item.items():
                self.operations[operation["operationId"]] = {**operation, "method": method.upper(),
                                                             "path": path}
        self.components = _closed(self.root["components"])
        self.validators = {}

    def resolve(self, thing):
        while "$ref" in thing:
            node = self.root
            for part in thing["$ref"].split("/")[1:]:
                node = node[part]
            thing = node
        return thing

    def faults(self, operation, answer):
        """Returns what is wrong with an answer to a call of the operation."""
        answers = operation["responses"]
        if str(answer.status) not in answers:
            return [f"the status {answer.status} is not documented"] + self.problem_faults(answer)
        content = self.resolve(answers[str(answer.status)]).get("content", {})
        if not content:
            return [] if not answer.body else ["there should be no body"]
        if answer.media() not in content:
            return [f"the media type {answer.media()!r} is not documented"]
        if answer.media() == PROBLEM:
            return self.problem_faults(answer)
        if answer.media() != "application/json":
            return []
        return self.schema_faults(content["application/json"]["schema"], answer.json())

    def problem_faults(self, answer):
        if answer.media() != PROBLEM:
            return [f"an error of the media type {answer.media()!r}"]
        problem = answer.json()
        faults = self.schema_faults({"$ref": "#/components/schemas/Problem"}, problem)
        if faults:
            return faults
        if problem["status"] != answer.status:
            faults.append("the status of the problem is not that of the answer")
        if problem["code"] not in self.pages:
            faults.append(f"there is no page docs/errors/{problem['code']}.md")
        if problem["type"] != "/docs/errors/" + problem["code"]:
            faults.append(f"the type {problem['type']} is not the page of the code")
        if answer.status in (429, 503) and "Retry-After" not in answer.headers:
            faults.append("there is no Retry-After")
        return faults

    def schema_faults(self, schema, value):
        key = json.dumps(schema)
        if key not in self.validators:
            whole = {**_closed(schema), "components": self.components}
            self.validators[key] = jsonschema.Draft202012Validator(whole, format_checker=FORMATS)
        return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                for error in self.validators[key].iter_errors(value)]


def _closed(schema):
    """Returns the same schema, but without undocumented members."""
    schema = copy.deepcopy(schema)

    def walk(node):
        if isinstance(node, dict):
            if "properties" in node and node.get("type") == "object":
                node.setdefault("additionalProperties", False)
            for value in list(node.values()):
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(schema)
    return schema


FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("date-time")
def _is_time(value):
    return not isinstance(value, str) or bool(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value))
