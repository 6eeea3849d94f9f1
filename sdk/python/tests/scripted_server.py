"""A server that answers as a test tells it to, for situations that the real server cannot be forced
into: short leases, lost answers, refusals."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional


class Request(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Reply(NamedTuple):
    status: int = 200
    body: Any = {}
    headers: Mapping[str, str] = {}


Script = Callable[[Request], Optional[Reply]]  # None: the connection breaks


class ScriptedServer:
    def __init__(self, script: Script) -> None:
        self.requests: List[Request] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                text = self.rfile.read(length)
                request = Request(
                    self.command, self.path, dict(self.headers), json.loads(text) if text else None
                )
                outer.requests.append(request)
                reply = script(request)
                if reply is None:
                    self.close_connection = True
                    return
                content = (
                    reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                )
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = do_PUT = serve

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class ScriptedWork:
    """The worker protocol with one list of tasks; records the requests."""

    def __init__(self, tasks: List[Dict[str, Any]], lease_ms: int = 30_000) -> None:
        self.lock = threading.Condition()
        self.waiting = list(tasks)
        self.lease_ms = lease_ms
        self.reports: List[Dict[str, Any]] = []
        self.heartbeats: List[str] = []
        self.stop: List[str] = []
        self.asked: List[int] = []  # the `max` of each poll
        self.calls: List[str] = []
        self.registered = 0
        self.draining = False
        self.before_poll: Callable[[Request], Optional[Reply]] = lambda request: None

    def __call__(self, request: Request) -> Optional[Reply]:
        with self.lock:
            self.calls.append(f"{request.method} {request.path.rpartition('/')[2]}")
            self.lock.notify_all()
            if request.path == "/v1/workers":
                self.registered += 1
                self.draining = False
                return Reply(201, {"workerId": f"w{self.registered}", "leaseMs": self.lease_ms})
            if request.path.endswith("/drain"):
                self.draining = True
                self.lock.notify_all()
                return Reply()
            if request.method == "DELETE":
                return Reply(204, b"")
            special = self.before_poll(request)
            if special is not None:
                return special
            return self._poll(request.body)

    def _poll(self, body: Dict[str, Any]) -> Reply:
        self.asked.append(body["max"])
        self.reports += body.get("reports", [])
        self.heartbeats += body.get("heartbeats", [])
        self.lock.notify_all()
        given: List[Dict[str, Any]] = []

        def is_due() -> bool:
            return bool(self.waiting or self.stop or self.draining)

        if body["max"] > 0:
            self.lock.wait_for(is_due, body.get("waitMs", 0) / 1000)
            given, self.waiting = self.waiting[: body["max"]], self.waiting[body["max"] :]
        stop, self.stop = self.stop, []
        return Reply(200, {"tasks": given, "stop": stop, "leaseMs": self.lease_ms})

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> bool:
        with self.lock:
            return self.lock.wait_for(condition, timeout)


def task(token: str, kind: str = "job", **inputs: Any) -> Dict[str, Any]:
    return {
        "token": token,
        "runId": "r1",
        "stepId": token,
        "kind": kind,
        "logicalAttempt": 1,
        "engineAttempt": 1,
        "inputs": inputs,
    }


def problem(status: int, code: str, **headers: str) -> Reply:
    body = {"code": code, "status": status, "detail": "as the test says"}
    return Reply(status, body, {"Content-Type": "application/problem+json", **headers})
