"""The server's answers as values. Unknown members of newer servers are ignored."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, TypeVar

T = TypeVar("T")

TERMINAL = frozenset(("COMPLETED", "FAILED", "CANCELLED"))

_members: Dict[type, List[Tuple[str, str, Optional[type]]]] = {}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def read(cls: Type[T], content: Mapping[str, Any]) -> T:
    """Reads a dataclass from its JSON object; missing members keep their defaults."""
    members = _members.get(cls)
    if members is None:
        members = [
            (f.name, f.metadata.get("wire") or _camel(f.name), f.metadata.get("items"))
            for f in dataclasses.fields(cls)  # type: ignore[arg-type]
        ]
        _members[cls] = members
    values: Dict[str, Any] = {}
    for name, wire, items in members:
        if wire in content:
            value = content[wire]
            values[name] = value if items is None else [read(items, item) for item in value]
    return cls(**values)


def _list(items: Optional[type] = None, wire: str = "") -> Any:
    make: Callable[[], List[Any]] = list
    return field(default_factory=make, metadata={"items": items, "wire": wire})


@dataclass(frozen=True)
class StartedRun:
    run_id: str
    status: str
    existing: bool = False  # it was started before, with the same id or key
    queue_position: int = 0
    start_at: Optional[str] = None


@dataclass(frozen=True)
class StepView:
    step_id: str
    status: str
    name: str = ""
    kind: str = ""
    logical_attempt: int = 0
    attempts_max: int = 0
    engine_attempt: int = 0
    started_at: Optional[str] = None
    completed_at: Optional[str] = None
    wakes_at: Optional[str] = None
    error_code: str = ""
    error_message: str = ""
    skip_code: str = ""
    hook_token: str = ""
    items_total: int = 0
    items_done: int = 0
    items_failed: int = 0
    items_running: int = 0
    child_run_id: str = ""
    depends_on: List[str] = _list()


@dataclass(frozen=True)
class RunView:
    run_id: str
    status: str
    substatus: str = ""
    plan_id: str = ""
    plan_version: str = ""
    last_event_seq: int = 0
    queue_position: int = 0
    started_at: Optional[str] = None
    completed_at: Optional[str] = None
    inputs: Any = None
    result: Any = None
    error_code: str = ""
    error_message: str = ""
    steps: List[StepView] = _list(StepView)

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    def step(self, step_id: str) -> StepView:
        for step in self.steps:
            if step.step_id == step_id:
                return step
        raise KeyError(step_id)


@dataclass(frozen=True)
class RunSummary:
    run_id: str
    status: str
    substatus: str = ""
    project_id: str = ""
    environment_id: str = ""
    plan_id: str = ""
    plan_version: str = ""
    error_code: str = ""
    last_event_seq: int = 0
    created_at: Optional[str] = None
    updated_at: Optional[str] = None
    quarantine: str = ""


@dataclass(frozen=True)
class RunPage:
    runs: List[RunSummary] = _list(RunSummary)
    cursor: str = ""  # for the next page; empty if this is the last


@dataclass(frozen=True)
class Event:
    """An event of the log; `data` is the event in the requested dialect. `seq` is the position to
    resume from: the number in its run, or with follow() of all runs the position of its commit."""

    seq: int = field(default=0, metadata={"wire": "runSeq"})
    type: str = ""
    data: Any = field(default=None, metadata={"wire": "event"})


@dataclass(frozen=True)
class EventPage:
    events: List[Event] = _list(Event)
    next_after: int = 0
    more: bool = False


@dataclass(frozen=True)
class SignalDecision:
    signal_id: str
    decision: str
    code: str = ""
    reason: str = ""
    repeated: bool = False
    new_run_id: str = ""
    run_seq: int = 0


@dataclass(frozen=True)
class Blocker:
    kind: str = ""
    subject: str = ""
    message: str = ""
    cause_seq: int = 0
    wakes_at: Optional[str] = None
    remedy: str = ""


@dataclass(frozen=True)
class Explanation:
    run_id: str
    status: str
    substatus: str = ""
    summary: str = ""
    blockers: List[Blocker] = _list(Blocker)


@dataclass(frozen=True)
class Hook:
    run_id: str
    token: str = ""
    hook_id: str = ""
    step_id: str = ""
    plan_id: str = ""
    status: str = ""
    until: Optional[str] = None


@dataclass(frozen=True)
class RegisteredPlan:
    plan_id: str = ""
    plan_version: str = ""
    sha256: str = ""
    registered_at: Optional[str] = None
    registered_by: str = ""


@dataclass(frozen=True)
class PlanPage:
    plans: List[RegisteredPlan] = _list(RegisteredPlan)
    cursor: str = ""


@dataclass(frozen=True)
class PlanWarning:
    code: str = ""
    pointer: str = ""
    message: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class CheckedPlan:
    plan_id: str = ""
    plan_version: str = ""
    sha256: str = ""
    steps: int = 0
    warnings: List[PlanWarning] = _list(PlanWarning)


@dataclass(frozen=True)
class Artifact:
    uri: str = ""
    kind: str = ""
    sha256: str = ""
    size_bytes: int = 0
    content_type: str = ""
    name: str = ""


@dataclass(frozen=True)
class PlanRef:
    """A plan stored elsewhere; its bytes must have the digest."""

    uri: str
    sha256: str
    schema_version: str = ""
    plan_id: str = ""
    plan_version: str = ""

    def to_wire(self) -> Dict[str, str]:
        return {_camel(k): v for k, v in dataclasses.asdict(self).items() if v}
