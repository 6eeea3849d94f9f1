"""What can go wrong, as exceptions with stable codes."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple


class Fault(NamedTuple):
    """One mistake in what was sent, and where it is."""

    pointer: str
    message: str
    line: int = 0
    column: int = 0


class EverstepError(Exception):
    """The server refused, or failed. `code` is stable: docs/errors/CODE.md says what to do."""

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
    """No answer: the server cannot be reached, or the connection broke. What was asked may have
    been done."""

    def __init__(self, detail: str) -> None:
        super().__init__("TRANSPORT", detail)


class RunFailed(EverstepError):
    """Raised by `Run.result()`: the run ended, and not well. `code` is that of the run's error."""

    def __init__(self, run_id: str, status: str, code: str, message: str) -> None:
        super().__init__(code or status, message or f"the run {run_id} is {status}")
        self.run_id = run_id
        self.run_status = status


class TaskFailed(Exception):
    """Raised by a handler: the attempt has failed. `code` is what plans name in `retryOn`."""

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
    """Raised by a handler that saw `ctx.cancelled`: it has stopped as it was asked to."""


def problem(status: int, headers: Mapping[str, str], body: bytes) -> EverstepError:
    """The error of an answer that is none of success (RFC 9457, or whatever a proxy made)."""
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
