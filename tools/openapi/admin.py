"""The server itself: health, metrics, tokens, alerts, audit."""

from plans import PLAIN
from runs import AT, JSON
from shapes import Example, Operation, query, ref, text, whole

TOKEN = {"tokenId": "8fJk2Lm0Qw3z", "name": "ci", "tenantId": "default", "roles": ["operator"],
         "createdAt": AT, "expiresAt": "2036-02-11T00:00:00.000Z"}
SECRET = "est_8fJk2Lm0Qw3z_c2VjcmV0IHRoYXQgaXMgc2hvd24gb25jZSBhbmQgbm"
HASH = "5f7a" * 16
MARKDOWN = "text/markdown"
PROBLEM = "application/problem+json"


def plain(path, name, permission, summary, description, example, answers):
    return Operation("GET", path, name, "Server", permission, summary, description, [example],
                     answers=answers)


OPERATIONS = [
    plain("/livez", "getLiveness", None, "Check liveness", "Responds if the process is alive.",
          Example("alive", "the process is alive", 200, "ok\n", media=PLAIN), {"200": ("Alive.", {PLAIN: text()}, ())}),
    plain("/readyz", "getReadiness", None, "Check readiness",
          "Not ready while it recovers, stops, or is nearly out of disk space. A second line `clock: …` reports "
          "problems with the clock in the last 24 hours.",
          Example("ready", "the server is ready", 200, "ready\n", media=PLAIN),
          {"200": ("Ready.", {PLAIN: text()}, ()),
           "503": ("Not ready; the text is the reason.", {PLAIN: text(), PROBLEM: ref("Problem")}, ())}),
    plain("/openapi.json", "getOpenApi", None, "Get this document", "OpenAPI 3.1.",
          Example("document", "its beginning", 200, {"openapi": "3.1.0"}),
          {"200": ("The document.", {JSON: {"type": "object"}}, ())}),
    Operation(
        "GET", "/docs/errors/{code}", "getErrorPage", "Server", None, "Get the page of an error code",
        "Explains what happened and what to do; the `type` of every problem refers to it.",
        [Example("page", "of a code", 200, "# RUN_NOT_FOUND\n\n## What happened\n", media=MARKDOWN,
                 code="RUN_NOT_FOUND"),
         Example("unknown", "an unknown code", 404, {
             "type": "/docs/errors/NOT_FOUND", "title": "Not found", "status": 404,
             "code": "NOT_FOUND", "detail": "there is no such error code",
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media=PROBLEM, code="NO_SUCH_CODE")],
        errors=("404",), answers={"200": ("The page.", {MARKDOWN: text()}, ())}),
    plain("/metrics", "getMetrics", "metrics.read", "Read the metrics",
          "In the Prometheus text format. Sinks are those of the tenant; the role admin sees all.",
          Example("metrics", "the beginning", 200, "# HELP everstep_events_appended_total Events that became durable.\n",
                  media=PLAIN), {"200": ("The metrics.", {PLAIN: text()}, ())}),
    Operation(
        "GET", "/v1/alerts", "listAlerts", "Server", "alert.read", "List alerts",
        "Returns alerts of the engine and of the tenant's runs and sinks, the newest first. The role admin sees "
        "those of every tenant.",
        [Example("alerts", "all of them", 200, {"alerts": [
            {"at": AT, "code": "DESTRUCTIVE_SIGNAL", "severity": "P1", "runId": "release-2.4",
             "tenantId": "default", "detail": "EMERGENCY_STOP by admin"}]})],
        answers={"200": ("The alerts.", {JSON: ref("AlertList")}, ())}),
    Operation(
        "GET", "/v1/audit", "listAudit", "Server", "audit.read", "Read the audit log",
        "Records who did what. Each entry is chained to the previous one; `everstep audit verify` checks the chain.",
        [Example("page", "from the beginning", 200, {"entries": [
            {"seq": 2, "at": AT, "actor": "ci", "tokenId": "8fJk2Lm0Qw3z", "tenantId": "default",
             "action": "cancelRun", "method": "POST", "path": "/v1/runs/greeting-3/cancel", "status": 200,
             "sourceIp": "127.0.0.1", "requestId": "4bf92f3577b34da6a3ce929d0e0e4736", "prev": "0" * 64,
             "hash": HASH}], "nextAfter": 2, "more": False}, after=0, limit=10)],
        query=[query("after", "the last `seq` already received", whole(minimum=0, default=0)),
               query("limit", "", whole(minimum=1, maximum=1000, default=100))],
        answers={"200": ("A page.", {JSON: ref("AuditPage")}, ())}),
    Operation(
        "GET", "/v1/tokens", "listTokens", "Tokens", "token.manage", "List tokens",
        "Without their secrets. 404 on a server without authentication.",
        [Example("tokens", "of the tenant", 200, {"tokens": [TOKEN]})],
        errors=("404",), answers={"200": ("The tokens.", {JSON: ref("TokenList")}, ())}),
    Operation(
        "POST", "/v1/tokens", "createToken", "Tokens", "token.manage", "Create a token",
        "The secret is only in this response.",
        [Example("operator", "for a program that starts runs", 201, {**TOKEN, "token": SECRET},
                 body={"name": "ci", "roles": ["operator"], "expiresAt": "2036-02-11T00:00:00Z"})],
        body={JSON: ref("NewToken")}, errors=("404", "410"),
        answers={"201": ("Created.", {JSON: ref("Token")}, ())}),
    Operation(
        "DELETE", "/v1/tokens/{tokenId}", "revokeToken", "Tokens", "token.manage", "Revoke a token",
        "It is invalid from the next call on.",
        [Example("revoke", "one", 204, tokenId="8fJk2Lm0Qw3z")],
        errors=("404",), answers={"204": ("Durably revoked.", {}, ())}),
    Operation(
        "POST", "/v1/tokens/{tokenId}/rotate", "rotateToken", "Tokens", "token.manage", "Rotate a token",
        "Gives it a new secret. The old one stays valid for the grace period.",
        [Example("rotate", "with a grace period of an hour", 200, {**TOKEN, "rotatedAt": AT, "token": SECRET},
                 tokenId="8fJk2Lm0Qw3z", body={"graceMs": 3600000})],
        body={JSON: ref("Rotation"), "required": False}, errors=("404", "410"),
        answers={"200": ("The new secret.", {JSON: ref("Token")}, ())}),
]
PARAMETERS = {
    "code": ("the code of the problem", text()),
    "tokenId": ("the id of the token, not its secret", text()),
}
