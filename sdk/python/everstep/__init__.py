"""Everstep: start and follow durable runs, and execute their steps, from Python."""

from .async_client import AsyncClient, AsyncRun
from .async_worker import AsyncWorker
from .client import Client, Run
from .errors import EverstepError, Fault, RunFailed, TaskCancelled, TaskFailed, TransportError
from .task import AsyncTaskContext, TaskContext, ThreadTaskContext
from .views import (
    Artifact,
    Blocker,
    CheckedPlan,
    Event,
    Explanation,
    Hook,
    PlanRef,
    PlanWarning,
    RegisteredPlan,
    RunSummary,
    RunView,
    SignalDecision,
    StartedRun,
    StepView,
)
from .worker import Worker

__all__ = [
    "Artifact",
    "AsyncClient",
    "AsyncRun",
    "AsyncTaskContext",
    "AsyncWorker",
    "Blocker",
    "CheckedPlan",
    "Client",
    "Event",
    "EverstepError",
    "Explanation",
    "Fault",
    "Hook",
    "PlanRef",
    "PlanWarning",
    "RegisteredPlan",
    "Run",
    "RunFailed",
    "RunSummary",
    "RunView",
    "SignalDecision",
    "StartedRun",
    "StepView",
    "TaskCancelled",
    "TaskContext",
    "TaskFailed",
    "ThreadTaskContext",
    "TransportError",
    "Worker",
]

__version__ = "0.1.0"
