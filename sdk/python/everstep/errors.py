"""Exceptions with stable codes."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple


class Fault(NamedTuple):
    """One fault in a request, and its location."""

    pointer: str
    message: str
    line: int = 0
    column: int = 0


class EverstepError(Exception):
    """The server refused a request, or failed. `code` is stable; see docs/errors/CODE.md."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        status: int = 0,
        faults: Sequence[Fault] = (),
        retry_after: Optional[float] = None,
        trace_id: str = "",
    ) -> None:
        super().__init__(code, detail, status)
        self.code = code
        self.detail = detail
        self.status = status
        self.faults: Tuple[Fault, ...] = tuple(faults)
        self.retry_after = retry_after
        self.trace_id = trace_id

    def __str__(self) -> str:
        text = f"{self.code}: {self.detail}" if self.detail else self.code
        for fault in self.faults:
            text += f"\n  {fault.pointer or '/'}: {fault.message}"
        return text


class TransportError(EverstepError):
    """There was no answer: the server is unreachable, or the connection broke. The request may
    nevertheless have been executed."""

    def __init__(self, detail: str) -> None:
        super().__init__("TRANSPORT", detail)


class RunFailed(EverstepError):
    """Raised by `Run.result()`: the run ended without success. `code` is the run's error code."""

    def __init__(self, run_id: str, status: str, code: str, message: str) -> None:
        super().__init__(code or status, message or f"the run {run_id} is {status}")
        self.run_id = run_id
        self.run_status = status


class TaskFailed(Exception):
    """Raised by a handler to fail the attempt. Plans name `code` in `retryOn`."""

    def __init__(
        self,
        code: str,
        message: str = "",
        retryable: bool = False,
        retry_after: Optional[float] = None,
        *,
        category: str = "",
        details: Any = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after  # seconds
        self.category = category  # USER, SYSTEM, PLATFORM, TIMEOUT
        self.details = details


class TaskCancelled(Exception):
    """Raised by a handler that stopped because `ctx.cancelled` was set."""


def problem(status: int, headers: Mapping[str, str], body: bytes) -> EverstepError:
    """Returns the error of an unsuccessful answer (RFC 9457, or the error page of a proxy)."""
    content: Dict[str, Any] = {}
    try:
        read = json.loads(body)
        if isinstance(read, dict):
            content = read
    except ValueError:
        pass
    faults = [
        Fault(
            str(fault.get("pointer", "")),
            str(fault.get("message", "")),
            int(fault.get("line", 0)),
            int(fault.get("column", 0)),
        )
        for fault in content.get("faults", ())
    ]
    retry_after: Optional[float] = None
    try:
        retry_after = float(headers["retry-after"])
    except (KeyError, ValueError):
        pass
    return EverstepError(
        str(content.get("code") or f"HTTP_{status}"),
        str(content.get("detail") or content.get("title") or ""),
        status,
        faults,
        retry_after,
        str(content.get("traceId", "")),
    )
