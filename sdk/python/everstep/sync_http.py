"""HTTP for threads: a pool of http.client connections."""

from __future__ import annotations

import http.client
import threading
import time
from typing import Dict, Iterator, List, Mapping, Optional, Tuple

from .endpoint import Answer, Backoff, Endpoint
from .errors import EverstepError, TransportError, problem

# The server closes connections that were idle for 120 seconds.
_IDLE_MAX = 60.0
_PIECE_BYTES = 256 << 10


class Connections:
    """Keep-alive connections, each used by one thread at a time. Thread-safe."""

    def __init__(self, endpoint: Endpoint, timeout: float, idle_max: int = 32) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._idle_max = idle_max
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        wait: float = 0.0,
    ) -> Answer:
        """Makes one attempt. Returns a successful answer, or raises EverstepError."""
        connection = self._take()
        try:
            response = self._send(connection, method, path, headers, body, self._timeout + wait)
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise TransportError(f"{method} {path}: {error or type(error).__name__}") from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._put_back(connection)
        answer_headers = _headers_of(response)
        if response.status >= 300:
            raise problem(response.status, answer_headers, content)
        return Answer(response.status, answer_headers, content)

    def request_until_answered(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        wait: float,
        retry_for: float,
    ) -> Answer:
        backoff = Backoff(retry_for)
        while True:
            try:
                return self.request(method, path, headers, body, wait)
            except EverstepError as error:
                delay = backoff.delay(error)
                if delay is None:
                    raise
                # Other idle connections to the same unreachable server are useless.
                if error.status == 0:
                    self.close()
            time.sleep(delay)

    def lines(self, path: str, headers: Mapping[str, str], silence_max: float) -> Iterator[bytes]:
        """Yields the lines of a streamed answer, on a separate connection."""
        for response in self._stream(path, headers, silence_max):
            while True:
                line = response.readline()
                if not line:
                    return
                yield line

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yields the bytes of an answer that may be large."""
        for response in self._stream(path, {}, self._timeout):
            while True:
                piece = response.read(_PIECE_BYTES)
                if not piece:
                    return
                yield piece

    def _stream(
        self, path: str, headers: Mapping[str, str], timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._open()
        try:
            response = self._send(connection, "GET", path, headers, None, timeout)
            if response.status >= 300:
                raise problem(response.status, _headers_of(response), response.read())
            yield response
        except (OSError, http.client.HTTPException) as error:
            raise TransportError(f"GET {path}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout: float,
    ) -> http.client.HTTPResponse:
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        connection.request(method, path, body, {**self._endpoint.headers, **headers})
        return connection.getresponse()

    def _open(self) -> http.client.HTTPConnection:
        endpoint = self._endpoint
        if endpoint.tls is None:
            return http.client.HTTPConnection(endpoint.host, endpoint.port)
        return http.client.HTTPSConnection(endpoint.host, endpoint.port, context=endpoint.tls)

    def _take(self) -> http.client.HTTPConnection:
        old = time.monotonic() - _IDLE_MAX
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if since > old:
                    return connection
                connection.close()
        return self._open()

    def _put_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < self._idle_max:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def _headers_of(response: http.client.HTTPResponse) -> Dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
