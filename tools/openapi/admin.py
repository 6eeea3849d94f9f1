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
    plain("/livez", "getLiveness", None, "Ask whether the process lives", "It answers: it lives.",
          Example("alive", "it does", 200, "ok\n", media=PLAIN), {"200": ("Yes.", {PLAIN: text()}, ())}),
    plain("/readyz", "getReadiness", None, "Ask whether the server is ready",
          "Not while it recovers, stops, or is nearly out of disk. A second line `clock: …` says what was wrong "
          "with the clock in the last 24 hours.",
          Example("ready", "it is", 200, "ready\n", media=PLAIN),
          {"200": ("Yes.", {PLAIN: text()}, ()),
           "503": ("Not now; the text says why.", {PLAIN: text(), PROBLEM: ref("Problem")}, ())}),
    plain("/openapi.json", "getOpenApi", None, "Get this document", "OpenAPI 3.1.",
          Example("document", "its beginning", 200, {"openapi": "3.1.0"}),
          {"200": ("The document.", {JSON: {"type": "object"}}, ())}),
    Operation(
        "GET", "/docs/errors/{code}", "getErrorPage", "Server", None, "Read about an error code",
        "What happened and what to do: the `type` of every problem leads here.",
        [Example("page", "of a code", 200, "# RUN_NOT_FOUND\n\n## What happened\n", media=MARKDOWN,
                 code="RUN_NOT_FOUND"),
         Example("unknown", "a code that is none", 404, {
             "type": "/docs/errors/NOT_FOUND", "title": "There is nothing here", "status": 404,
             "code": "NOT_FOUND", "detail": "there is no such error code",
             "traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}, media=PROBLEM, code="NO_SUCH_CODE")],
        errors=("404",), answers={"200": ("The page.", {MARKDOWN: text()}, ())}),
    plain("/metrics", "getMetrics", "metrics.read", "Read the metrics",
          "In the format of Prometheus. Sinks are those of the tenant; the role admin sees all.",
          Example("metrics", "the beginning", 200, "# HELP everstep_events_appended_total Events that became durable.\n",
                  media=PLAIN), {"200": ("The metrics.", {PLAIN: text()}, ())}),
    Operation(
        "GET", "/v1/alerts", "listAlerts", "Server", "alert.read", "List alerts",
        "Of the engine and of the tenant's runs and sinks, newest first. The role admin sees those of every "
        "tenant.",
        [Example("alerts", "all of them", 200, {"alerts": [
            {"at": AT, "code": "DESTRUCTIVE_SIGNAL", "severity": "P1", "runId": "release-2.4",
             "tenantId": "default", "detail": "EMERGENCY_STOP by admin"}]})],
        answers={"200": ("The alerts.", {JSON: ref("AlertList")}, ())}),
    Operation(
        "GET", "/v1/audit", "listAudit", "Server", "audit.read", "Read the audit log",
        "Who did what. Each entry seals the one before; `everstep audit verify` checks the chain.",
        [Example("page", "from the beginning", 200, {"entries": [
            {"seq": 2, "at": AT, "actor": "ci", "tokenId": "8fJk2Lm0Qw3z", "tenantId": "default",
             "action": "cancelRun", "method": "POST", "path": "/v1/runs/greeting-3/cancel", "status": 200,
             "sourceIp": "127.0.0.1", "requestId": "4bf92f3577b34da6a3ce929d0e0e4736", "prev": "0" * 64,
             "hash": HASH}], "nextAfter": 2, "more": False}, after=0, limit=10)],
        query=[query("after", "the `seq` already seen", whole(minimum=0, default=0)),
               query("limit", "", whole(minimum=1, maximum=1000, default=100))],
        answers={"200": ("A page.", {JSON: ref("AuditPage")}, ())}),
    Operation(
        "GET", "/v1/tokens", "listTokens", "Tokens", "token.manage", "List tokens",
        "Without their secrets. 404 on a server without authentication.",
        [Example("tokens", "of the tenant", 200, {"tokens": [TOKEN]})],
        errors=("404",), answers={"200": ("The tokens.", {JSON: ref("TokenList")}, ())}),
    Operation(
        "POST", "/v1/tokens", "createToken", "Tokens", "token.manage", "Make a token",
        "The secret is in this answer and nowhere else.",
        [Example("operator", "for a program that starts runs", 201, {**TOKEN, "token": SECRET},
                 body={"name": "ci", "roles": ["operator"], "expiresAt": "2036-02-11T00:00:00Z"})],
        body={JSON: ref("NewToken")}, errors=("404", "410"),
        answers={"201": ("Made.", {JSON: ref("Token")}, ())}),
    Operation(
        "DELETE", "/v1/tokens/{tokenId}", "revokeToken", "Tokens", "token.manage", "Revoke a token",
        "From the next call on it is not valid.",
        [Example("revoke", "one", 204, tokenId="8fJk2Lm0Qw3z")],
        errors=("404",), answers={"204": ("Revoked, durably.", {}, ())}),
    Operation(
        "POST", "/v1/tokens/{tokenId}/rotate", "rotateToken", "Tokens", "token.manage", "Rotate a token",
        "Gives it a new secret. The old one stays valid for the grace.",
        [Example("rotate", "with an hour to change over", 200, {**TOKEN, "rotatedAt": AT, "token": SECRET},
                 tokenId="8fJk2Lm0Qw3z", body={"graceMs": 3600000})],
        body={JSON: ref("Rotation"), "required": False}, errors=("404", "410"),
        answers={"200": ("The new secret.", {JSON: ref("Token")}, ())}),
]
PARAMETERS = {
    "code": ("of the problem", text()),
    "tokenId": ("of the token, not its secret", text()),
}
