"""The tasks that a worker holds, the reports it owes, and the content of its polls. Contains no I/O
and no threads: one event loop at a time owns it. It may outlive a run of the worker, like handlers.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple, cast

from .calls import encode
from .task import Report, TaskContext, failure, text_of

log = logging.getLogger("everstep.worker")

# The maximum of reports, and of heartbeats, in one poll.
BATCH_MAX = 1000


Task = Mapping[str, Any]  # as leased by the server


class Poll(NamedTuple):
    body: bytes
    reports: List[Report]
    heartbeats: List[str]


class WorkBook:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.waiting: Deque[Tuple[Task, float]] = deque()  # for a slot, with its deadline
        self.held: Dict[str, TaskContext] = {}  # started and not yet reported, by token
        self.reports: List[Report] = []  # to be sent
        self.beats: Set[str] = set()  # to be sent
        self.in_flight = 0  # polls with reports whose answer is pending
        self.strays: Set[str] = set()  # running tasks whose lease the server may have ended
        self._batch_max = BATCH_MAX
        self._repeated: Set[str] = set()  # tokens of reports that may have arrived before

    @property
    def is_empty(self) -> bool:
        return not (self.held or self.reports or self.in_flight or self.strays)

    @property
    def owes(self) -> bool:
        return bool(self.reports or self.beats)

    @property
    def free_slots(self) -> int:
        return self.slots - len(self.held) - len(self.strays.difference(self.held))

    def tasks_max(self) -> int:
        """How many tasks to ask for. The server leases no more than `slots` at once, so this need
        not be exact: it knows of a slot freed by a report as soon as we do. What it does not know
        of are handlers that are still running after it ended their leases."""
        if not self.strays and not self.waiting:
            return self.slots
        return self.free_slots - len(self.waiting)

    def receive(self, tasks: Sequence[Task], until: float) -> None:
        """Takes tasks from the server. Each waits for a slot until `until`; its lease is not kept
        meanwhile, so that a task without a slot goes to another worker."""
        if len(tasks) > self.free_slots:
            self.strays.update(self.held)  # the server has ended some of these leases
        self.waiting.extend([(task, until) for task in tasks])

    def due(self, now: float) -> List[Task]:
        """Returns the tasks that start now."""
        while self.waiting and self.waiting[0][1] < now:
            self.waiting.popleft()
        return [self.waiting.popleft()[0] for _ in range(min(self.free_slots, len(self.waiting)))]

    def begin(self, context: TaskContext) -> None:
        self.held[context.token] = context

    def finish(self, context: TaskContext, report: Report) -> None:
        self.strays.discard(context.token)
        if self.held.pop(context.token, None) is not None:  # otherwise nobody wants the report
            self.reports.append(report)

    def beat(self, token: str) -> None:
        if token in self.held:
            self.beats.add(token)

    def next_poll(self, tasks_max: int, wait: float) -> Poll:
        reports = self.reports[: self._batch_max]
        del self.reports[: self._batch_max]
        beats = [token for token in self.beats if token in self.held][:BATCH_MAX]
        self.beats.difference_update(beats)
        if not self.beats.issubset(self.held):
            self.beats.intersection_update(self.held)
        content: Dict[str, Any] = {"max": tasks_max}
        if wait > 0:
            content["waitMs"] = int(wait * 1000)
        if reports:
            content["reports"] = reports
            self.in_flight += 1
        if beats:
            content["heartbeats"] = beats
        try:
            body = encode(content)
        except Exception:  # raised by the encoder, or by a class in a handler's result
            content["reports"] = reports = [_sendable(report) for report in reports]
            body = encode(content)
        return Poll(body, reports, beats)

    # ---- the outcome of a poll; exactly one of these is called

    def answered(self, poll: Poll, refused: Sequence[Dict[str, Any]], stop: Sequence[str]) -> None:
        self._settle(poll)
        self._batch_max = BATCH_MAX
        # For repeated reports a refusal is expected: the first one had arrived.
        news = [report for report in refused if report["token"] not in self._repeated]
        if news:
            code, detail = news[0]["code"], news[0].get("detail", "")
            log.warning("%d reports were refused, the first with %s: %s", len(news), code, detail)
        if self._repeated:
            self._repeated.difference_update([report["token"] for report in poll.reports])
        for token in stop:
            context = self.held.get(token)
            if context is not None:
                self.strays.add(token)
                context.cancel()
        if stop and self.waiting:
            self.waiting = deque(each for each in self.waiting if each[0]["token"] not in stop)

    def unanswered(self, poll: Poll) -> None:
        """The reports may have arrived. They are sent again; the token makes that idempotent."""
        self._settle(poll)
        self.reports[:0] = poll.reports
        self._repeated.update([report["token"] for report in poll.reports])
        self.beats.update(poll.heartbeats)

    def refused(self, poll: Poll, code: str, detail: str) -> None:
        """The server refused the poll, for instance because of its size: the reports are sent in
        smaller batches, until the one that cannot be sent is found."""
        self._settle(poll)
        if len(poll.reports) > 1:
            self._batch_max = max(1, len(poll.reports) // 2)
            self.reports[:0] = poll.reports
            return
        for report in poll.reports:
            log.error("the report of a task cannot be sent: %s: %s", code, detail)
            if report.get("error", {}).get("code") != "REPORT_REFUSED":
                text = f"the worker's report was refused: {code}: {detail}"
                self.reports.append(failure(report["token"], "REPORT_REFUSED", text))

    def forget_leases(self) -> None:
        """The server no longer knows this worker: it delivers the held tasks again."""
        self.strays.update(self.held)
        for context in self.held.values():
            context.cancel()
        self.waiting.clear()
        self.held.clear()
        self.reports.clear()
        self.beats.clear()
        self._repeated.clear()

    def drop(self, poll: Poll) -> None:
        self._settle(poll)

    def _settle(self, poll: Poll) -> None:
        if poll.reports:
            self.in_flight -= 1


def _sendable(report: Report) -> Report:
    try:
        return cast(Report, json.loads(encode(report)))  # a copy that nobody can change meanwhile
    except Exception as error:
        text = f"the handler's result is not JSON: {text_of(error)}"
        return failure(report["token"], "RESULT_NOT_JSON", text)
