"""The server's address, and what all requests have in common."""

from __future__ import annotations

import os
import random
import ssl
import time
from typing import Dict, NamedTuple, Optional
from urllib.parse import urlsplit

from .errors import EverstepError

DEFAULT_URL = "http://127.0.0.1:7377"
USER_AGENT = "everstep-python/0.1"


class Answer(NamedTuple):
    status: int
    headers: Dict[str, str]  # names in lower case
    body: bytes


class Endpoint:
    """`url` and `token` default to EVERSTEP_URL and EVERSTEP_TOKEN."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        text = url or os.environ.get("EVERSTEP_URL") or DEFAULT_URL
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"invalid server address {text!r}: use a URL like {DEFAULT_URL}")
        if parts.path.strip("/") or parts.query:
            raise ValueError(f"the server address must not have a path: {text!r}")
        self.host: str = parts.hostname
        self.tls: Optional[ssl.SSLContext] = None
        if parts.scheme == "https":
            self.tls = tls or ssl.create_default_context()
        self.port: int = parts.port or (443 if self.tls else 80)
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = f"{name}:{self.port}"
        token = token if token is not None else os.environ.get("EVERSTEP_TOKEN", "")
        self.headers: Dict[str, str] = {"User-Agent": USER_AGENT}
        if token:
            if not token.isascii() or not token.isprintable():
                raise ValueError("the token contains invalid characters")
            self.headers["Authorization"] = "Bearer " + token


# Errors worth a retry: the request did not arrive, or the server asks for it. A repeated POST has
# the same Idempotency-Key, so it is executed once.
RETRY_STATUSES = frozenset((408, 425, 429, 502, 503, 504))


def is_worth_retrying(error: EverstepError) -> bool:
    if error.status == 0 or error.status in RETRY_STATUSES:
        return True
    return error.code == "IDEMPOTENCY_KEY_IN_USE"


class Backoff:
    """The delay before the next attempt: doubling, with jitter, until the time is up."""

    def __init__(self, total: float, first: float = 0.05, longest: float = 2.0) -> None:
        self._until = time.monotonic() + total
        self._next = first
        self._longest = longest

    def delay(self, error: EverstepError) -> Optional[float]:
        """Returns the seconds to wait, or None if there should be no further attempt."""
        if not is_worth_retrying(error):
            return None
        wait = self._next * random.uniform(0.5, 1.0)
        if error.retry_after is not None:
            wait = max(wait, error.retry_after)
        self._next = min(self._next * 2, self._longest)
        return wait if time.monotonic() + wait < self._until else None
