"""The calls of the API as values: what to send, and how to read the answer. Shared by both clients;
contains no I/O."""

from __future__ import annotations

import json
import uuid
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Type, TypeVar, Union
from urllib.parse import quote, urlencode

from . import views
from .endpoint import Answer

T = TypeVar("T")
Json = Any

# JSON as the server accepts it: no NaN. Text that is not valid UTF-8 is a caller's error and not
# sent.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(content: Json) -> bytes:
    return _encoder.encode(content).encode()


def is_json(content: Json) -> bool:
    try:
        encode(content)
        return True
    except Exception:  # raised by the encoder, or by a class in the content
        return False


class Call(Generic[T]):
    def __init__(
        self,
        method: str,
        path: str,
        decode: Callable[[Answer], T],
        body: Optional[bytes] = None,
        content_type: str = "application/json",
        key: Optional[str] = None,
        wait: float = 0.0,
    ) -> None:
        self.method = method
        self.path = path
        self.decode = decode
        self.body = body
        self.wait = wait  # how long the server may deliberately wait, in seconds
        self.headers: Dict[str, str] = {}
        if body is not None:
            self.headers["Content-Type"] = content_type
        if method == "POST":
            # Shared by all attempts of the call: an attempt whose answer was lost is not executed
            # twice.
            self.headers["Idempotency-Key"] = key or uuid.uuid4().hex


def as_view(cls: Type[T]) -> Callable[[Answer], T]:
    return lambda answer: views.read(cls, json.loads(answer.body))


def as_text(answer: Answer) -> str:
    return answer.body.decode()


def as_json(answer: Answer) -> Any:
    return json.loads(answer.body)


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _query(**parameters: Optional[Union[str, int]]) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return "?" + urlencode(given) if given else ""


def _post(cls: Type[T], path: str, content: Json, key: Optional[str] = None) -> Call[T]:
    return Call("POST", path, as_view(cls), encode(content), key=key)


def plan_text(plan: Union[str, Mapping[str, Any]]) -> str:
    """Returns a plan as a document: text is sent unchanged, a mapping as JSON."""
    return plan if isinstance(plan, str) else _encoder.encode(plan)


def start(
    plan: Optional[Union[str, Mapping[str, Any]]],
    plan_id: Optional[str],
    plan_ref: Optional[views.PlanRef],
    inputs: Optional[Mapping[str, Any]],
    *,
    plan_version: Optional[str],
    run_id: Optional[str],
    request_id: Optional[str],
    project_id: Optional[str],
    environment_id: Optional[str],
    priority: Optional[int],
    start_at: Optional[str],
    idempotency_key: Optional[str],
) -> Call[views.StartedRun]:
    if sum(way is not None for way in (plan, plan_id, plan_ref)) != 1:
        raise ValueError("give exactly one of plan, plan_id and plan_ref")
    content: Dict[str, Any] = {
        "plan": None if plan is None else plan_text(plan),
        "planId": plan_id,
        "planVersion": plan_version,
        "planRef": None if plan_ref is None else plan_ref.to_wire(),
        "inputs": None if inputs is None else dict(inputs),
        "runId": run_id,
        "requestId": request_id,
        "projectId": project_id,
        "environmentId": environment_id,
        "priority": priority,
        "startAt": start_at,
    }
    content = {name: value for name, value in content.items() if value is not None}
    return _post(views.StartedRun, "/v1/runs", content, idempotency_key)


def get_run(run_id: str, wait: float = 0.0) -> Call[views.RunView]:
    milliseconds = int(wait * 1000)
    query = f"?wait={milliseconds}ms" if milliseconds > 0 else ""
    return Call("GET", _path("runs", run_id) + query, as_view(views.RunView), wait=wait)


def list_runs(
    status: Optional[str],
    plan_id: Optional[str],
    project_id: Optional[str],
    environment_id: Optional[str],
    plan_version: Optional[str],
    run_id_prefix: Optional[str],
    error_code: Optional[str],
    cursor: Optional[str],
    limit: Optional[int],
) -> Call[views.RunPage]:
    query = _query(
        status=status,
        planId=plan_id,
        projectId=project_id,
        environmentId=environment_id,
        planVersion=plan_version,
        runIdPrefix=run_id_prefix,
        errorCode=error_code,
        cursor=cursor or None,
        limit=limit,
    )
    return Call("GET", "/v1/runs" + query, as_view(views.RunPage))


def why(run_id: str) -> Call[views.Explanation]:
    return Call("GET", _path("runs", run_id, "why"), as_view(views.Explanation))


def events(
    run_id: str, after: int, limit: Optional[int], dialect: Optional[str], type: Optional[str]
) -> Call[views.EventPage]:
    query = _query(after=after, limit=limit, dialect=dialect, type=type)
    return Call("GET", _path("runs", run_id, "events") + query, as_view(views.EventPage))


def follow_path(
    run_id: Optional[str], after: int, dialect: Optional[str], type: Optional[str]
) -> str:
    query = _query(after=after or None, dialect=dialect, type=type)
    return (_path("runs", run_id, "events") if run_id is not None else "/v1/events") + query


def signal(
    run_id: str,
    type: str,
    payload: Json,
    reason: Optional[str],
    signal_id: Optional[str],
    approved_by: Optional[str],
) -> Call[views.SignalDecision]:
    content: Dict[str, Any] = {"type": type}
    if payload is not None:
        content["payload"] = payload
    for name, text in (("reason", reason), ("signalId", signal_id), ("approvedBy", approved_by)):
        if text:
            content[name] = text
    return _post(views.SignalDecision, _path("runs", run_id, "signals"), content)


def _reason(reason: Optional[str]) -> Dict[str, str]:
    return {"reason": reason} if reason else {}


def cancel(run_id: str, reason: Optional[str]) -> Call[views.SignalDecision]:
    return _post(views.SignalDecision, _path("runs", run_id, "cancel"), _reason(reason))


def approve(run_id: str, reason: Optional[str]) -> Call[views.RunView]:
    return _post(views.RunView, _path("runs", run_id, "approve"), _reason(reason))


def deliver(token: str, payload: Json, delivery_id: Optional[str]) -> Call[views.Hook]:
    return _post(views.Hook, _path("hooks", token), payload, delivery_id)


def fail_hook(
    token: str, code: str, message: str, retryable: bool, delivery_id: Optional[str]
) -> Call[views.Hook]:
    content: Dict[str, Any] = {"code": code, "retryable": retryable}
    if message:
        content["message"] = message
    return _post(views.Hook, _path("hooks", token, "fail"), content, delivery_id)


def heartbeat_hook(token: str) -> Call[views.Hook]:
    return Call("POST", _path("hooks", token, "heartbeat"), as_view(views.Hook))


def get_hook(token: str) -> Call[views.Hook]:
    return Call("GET", _path("hooks", token), as_view(views.Hook))


def _plan_document(path: str, cls: Type[T], plan: Union[str, Mapping[str, Any]]) -> Call[T]:
    text = plan_text(plan)
    kind = "application/json" if text.lstrip().startswith("{") else "application/yaml"
    return Call("POST", path, as_view(cls), text.encode(), kind)


def register_plan(plan: Union[str, Mapping[str, Any]]) -> Call[views.RegisteredPlan]:
    return _plan_document("/v1/plans", views.RegisteredPlan, plan)


def check_plan(plan: Union[str, Mapping[str, Any]]) -> Call[views.CheckedPlan]:
    return _plan_document("/v1/plans/check", views.CheckedPlan, plan)


def list_plans(
    plan_id: Optional[str], cursor: Optional[str], limit: Optional[int]
) -> Call[views.PlanPage]:
    path = "/v1/plans" if plan_id is None else _path("plans", plan_id)
    return Call("GET", path + _query(cursor=cursor or None, limit=limit), as_view(views.PlanPage))


def get_plan(plan_id: str, plan_version: str) -> Call[str]:
    return Call("GET", _path("plans", plan_id, "versions", plan_version), as_text)


def put_artifact(data: bytes, content_type: str, name: Optional[str]) -> Call[views.Artifact]:
    path = "/v1/artifacts" + _query(name=name)

    def decode(answer: Answer) -> views.Artifact:
        content = json.loads(answer.body)
        return views.read(views.Artifact, content.get("$artifact", content))

    return Call("POST", path, decode, data, content_type)


def of_run(run_id: Optional[str]) -> str:
    return _query(runId=run_id)


def artifact_path(artifact: Union[str, views.Artifact]) -> str:
    """Returns the path for an artifact, its URI, or its digest."""
    uri = artifact.sha256 if isinstance(artifact, views.Artifact) else artifact
    return _path("artifacts", uri.rpartition(":")[2])


def queues() -> Call[List[Dict[str, Any]]]:
    return Call("GET", "/v1/queues", lambda answer: list(as_json(answer)["queues"]))


def set_queue(queue: str, concurrency: int) -> Call[Any]:
    return Call("PUT", _path("queues", queue), as_json, encode({"concurrency": concurrency}))


def workers() -> Call[List[Dict[str, Any]]]:
    return Call("GET", "/v1/workers", lambda answer: list(as_json(answer)["workers"]))
