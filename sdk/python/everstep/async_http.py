"""HTTP/1.1 with keep-alive on asyncio streams, as spoken by the server and by proxies."""

from __future__ import annotations

import asyncio
import time
from typing import AsyncGenerator, Dict, List, Mapping, Optional, Tuple

from .endpoint import Answer, Backoff, Endpoint
from .errors import EverstepError, TransportError, problem

_IDLE_MAX = 60.0
_PIECE_BYTES = 256 << 10
_BUFFER_BYTES = 1 << 20

_BROKEN = (OSError, EOFError, ValueError, asyncio.LimitOverrunError)


class Connection:
    """A connection, opened on demand, with one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None
        common = {"Host": endpoint.authority, **endpoint.headers}
        self._common = "".join(f"{name}: {value}\r\n" for name, value in common.items())
        self.used_at = 0.0

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout: float,
    ) -> Answer:
        """Makes one attempt. Returns an answer of any status. Raises TransportError."""
        await self._connect(f"{method} {path}", timeout)
        deadline = asyncio.get_running_loop().call_later(timeout, self.close)
        whole = False
        try:
            status, answer_headers = await self._begin(method, path, headers, body)
            if "content-length" in answer_headers and "connection" not in answer_headers:
                # The common case: a complete answer on a connection that stays open.
                size = int(answer_headers["content-length"])
                content = await self._open_reader().readexactly(size) if size else b""
            else:
                content = b"".join([piece async for piece in self._body(status, answer_headers)])
            whole = True
            return Answer(status, answer_headers, content)
        except _BROKEN as error:
            late = deadline.when() <= asyncio.get_running_loop().time()
            reason = f"no answer in {timeout:g} s" if late else str(error) or type(error).__name__
            raise TransportError(f"{method} {path}: {reason}") from error
        finally:
            deadline.cancel()
            if not whole:
                self.close()

    async def stream(
        self, path: str, headers: Mapping[str, str], silence_max: float
    ) -> AsyncGenerator[bytes, None]:
        """Yields the bytes of a successful answer, then closes. Raises EverstepError."""
        await self._connect(f"GET {path}", silence_max)
        loop = asyncio.get_running_loop()
        deadline = loop.call_later(silence_max, self.close)
        try:
            status, answer_headers = await self._begin("GET", path, headers, None)
            if status >= 300:
                content = b"".join([piece async for piece in self._body(status, answer_headers)])
                raise problem(status, answer_headers, content)
            async for piece in self._body(status, answer_headers):
                deadline.cancel()
                yield piece
                deadline = loop.call_later(silence_max, self.close)
        except _BROKEN as error:
            raise TransportError(f"GET {path}: {str(error) or type(error).__name__}") from error
        finally:
            deadline.cancel()
            self.close()

    async def _connect(self, purpose: str, timeout: float) -> None:
        if self._writer is not None:
            return
        endpoint = self._endpoint
        opening = asyncio.open_connection(
            endpoint.host, endpoint.port, ssl=endpoint.tls, limit=_BUFFER_BYTES
        )
        try:
            self._reader, self._writer = await asyncio.wait_for(opening, timeout)
        except asyncio.TimeoutError as error:
            raise TransportError(f"{purpose}: no connection in {timeout:g} s") from error
        except _BROKEN as error:
            raise TransportError(f"{purpose}: {str(error) or type(error).__name__}") from error

    async def _begin(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes]
    ) -> Tuple[int, Dict[str, str]]:
        if self._writer is None:
            raise ConnectionError("the connection was closed")
        head = f"{method} {path} HTTP/1.1\r\n{self._common}"
        for name, value in headers.items():
            head += f"{name}: {value}\r\n"
        if body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        elif method in ("POST", "PUT"):
            head += "Content-Length: 0\r\n"
        self._writer.write(head.encode("latin-1") + b"\r\n" + (body or b""))
        if body is not None and len(body) > _BUFFER_BYTES:
            await self._writer.drain()
        status = 100
        while status < 200:  # informational responses
            status, answer_headers = await self._head()
        return status, answer_headers

    def _open_reader(self) -> asyncio.StreamReader:
        if self._reader is None:
            raise ConnectionError("the connection was closed")
        return self._reader

    async def _head(self) -> Tuple[int, Dict[str, str]]:
        text = (await self._open_reader().readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text[:-4].split("\r\n")
        version, status = first.split(" ", 2)[:2]
        if not version.startswith("HTTP/1."):
            raise ValueError("the answer is not HTTP/1.1")
        headers: Dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(status), headers

    async def _body(self, status: int, headers: Dict[str, str]) -> AsyncGenerator[bytes, None]:
        reader = self._open_reader()
        closes = "close" in headers.get("connection", "").lower()
        if status in (204, 304):
            pass
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            async for piece in self._chunks(reader):
                yield piece
        elif "content-length" in headers:
            left = int(headers["content-length"])
            if left:
                yield await reader.readexactly(left)
        else:
            closes = True
            while True:
                piece = await reader.read(_PIECE_BYTES)
                if not piece:
                    break
                yield piece
        if closes:
            self.close()

    async def _chunks(self, reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
        while True:
            left = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            if left == 0:
                break
            yield await reader.readexactly(left)
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers


class AsyncConnections:
    """Keep-alive connections of one event loop."""

    def __init__(self, endpoint: Endpoint, timeout: float, idle_max: int = 256) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._idle_max = idle_max
        self._idle: List[Connection] = []

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        wait: float = 0.0,
    ) -> Answer:
        """Makes one attempt. Returns a successful answer, or raises EverstepError."""
        connection = self._take()
        answer = await connection.request(method, path, headers, body, self._timeout + wait)
        connection.used_at = time.monotonic()
        if len(self._idle) < self._idle_max:
            self._idle.append(connection)
        else:
            connection.close()
        if answer.status >= 300:
            raise problem(*answer)
        return answer

    async def request_until_answered(
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
                return await self.request(method, path, headers, body, wait)
            except EverstepError as error:
                delay = backoff.delay(error)
                if delay is None:
                    raise
                if error.status == 0:
                    self.close()
            await asyncio.sleep(delay)

    async def lines(
        self, path: str, headers: Mapping[str, str], silence_max: float
    ) -> AsyncGenerator[bytes, None]:
        rest = b""
        pieces = Connection(self._endpoint).stream(path, headers, silence_max)
        try:
            async for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    yield line
        finally:
            await pieces.aclose()  # at once, even if the caller stops reading

    def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        return Connection(self._endpoint).stream(path, {}, self._timeout)

    def _take(self) -> Connection:
        old = time.monotonic() - _IDLE_MAX
        while self._idle:
            connection = self._idle.pop()
            if connection.used_at > old:
                return connection
            connection.close()
        return Connection(self._endpoint)
