"""The real server, started by a test with its own folder. EVERSTEP is the path of the program."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Dict, Optional


def program() -> str:
    path = os.environ.get("EVERSTEP", "")
    if not path:
        raise unittest.SkipTest("EVERSTEP is not set: the path of the program")
    return os.path.realpath(path)


class Server:
    def __init__(self, *options: str, tls: Optional[ssl.SSLContext] = None) -> None:
        self._options = options or ("--dev",)
        self._tls = tls
        self._program = program()
        self._folder = tempfile.mkdtemp(prefix="everstep-sdk-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._port}"
        self._process: Optional[subprocess.Popen[bytes]] = None

    def start(self) -> None:
        log = open(os.path.join(self._folder, "server.log"), "ab")
        environment = {**os.environ, "EVERSTEP_DATA": os.path.join(self._folder, "data")}
        address = f"127.0.0.1:{self._port}"
        self._process = subprocess.Popen(
            [self._program, "serve", "--data", environment["EVERSTEP_DATA"], "--listen", address]
            + list(self._options),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
        )
        log.close()
        self._wait_until_ready()

    def crash(self) -> None:
        """Kills the server, as in a power failure."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def stop(self) -> int:
        """Stops the server and returns its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(30)
        finally:
            self._process.kill()
            self._process = None

    def remove(self) -> None:
        if self._process is not None:
            self.crash()
        shutil.rmtree(self._folder, ignore_errors=True)

    def log(self) -> str:
        with open(os.path.join(self._folder, "server.log"), errors="replace") as file:
            return file.read()

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError("the server does not start:\n" + self.log())
            try:
                with urllib.request.urlopen(
                    self.url + "/readyz", timeout=5, context=self._tls
                ) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.02)
        raise RuntimeError("the server is not ready:\n" + self.log())


class ServerTest(unittest.TestCase):
    """Tests that share one server, each with its own plans and kinds."""

    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()

    def kind(self, name: str = "job") -> str:
        return f"{self.id().rpartition('.')[2].replace('_', '-')[:60]}.{name}"


def plan_of(plan_id: str, *steps: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    return {
        "metadata": {"planId": plan_id, "planVersion": "1.0"},
        "steps": [{"stepId": f"s{i}", **step} for i, step in enumerate(steps, 1)],
        **more,
    }
