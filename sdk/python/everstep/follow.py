"""Parsing of a stream of server-sent events, without I/O."""

from __future__ import annotations

import json
from typing import Dict, List, Optional

from .views import Event, RunView

# The server sends a keep-alive every 15 seconds.
SILENCE_MAX = 45.0


class FollowState:
    """The state of a stream, so that another connection can continue after the last event."""

    def __init__(self, after: int) -> None:
        self.last_id = after
        self.retry = 1.0
        self._resumes = after > 0
        self._type = ""
        self._id: Optional[str] = None
        self._data: List[str] = []
        self._ended_at: Optional[int] = None

    def headers(self) -> Dict[str, str]:
        self._type, self._id, self._data = "", None, []
        headers = {"Accept": "text/event-stream"}
        if self._resumes:
            headers["Last-Event-ID"] = str(self.last_id)
        return headers

    def feed(self, line: bytes) -> Optional[Event]:
        """Takes one line, with or without its line end. Returns an event once it is complete."""
        text = line.rstrip(b"\r\n").decode()
        if not text:
            return self._complete()
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        elif name == "event":
            self._type = value
        elif name == "retry" and value.isdigit():
            self.retry = int(value) / 1000.0
        return None

    def _complete(self) -> Optional[Event]:
        data, type, id = self._data, self._type, self._id
        self._data, self._type, self._id = [], "", None
        if id is not None and id.isdigit():
            self.last_id = int(id)
            self._resumes = True
        if not data:
            return None
        return Event(self.last_id, type, json.loads("\n".join(data)))

    def is_over(self, view: RunView) -> bool:
        """Returns whether a run's stream that ended cleanly is complete. A server that stops also
        ends its streams, so it is complete only if all events of an ended run were streamed."""
        if not view.ended:
            return False
        over = view.last_event_seq <= self.last_id or self._ended_at == view.last_event_seq
        self._ended_at = view.last_event_seq
        return over
