"""What schemathesis checks beyond its own: which failures of the server the contract names.

A 5xx is part of the contract for missing databases, ended sessions, invalid JSON on two endpoints and statements that fail
while they run. It must then carry error, detail and exception, and the exception must not be the one that stands for a
fault of the server itself.
"""

import schemathesis


@schemathesis.check
def named_server_error(ctx, response, case):
    if response.status_code < 500:
        return
    path = case.operation.label
    if path.endswith("/ready"):
        return
    body = response.json()
    # The tool server answers in JSON-RPC, one message or a list of them.
    if path.endswith("/mcp") and (isinstance(body, list) or "jsonrpc" in body):
        return
    missing = [name for name in ("error", "detail", "exception", "requestId") if not body.get(name)]
    assert not missing, f"{path}: {response.status_code} without {missing}"
    assert body["exception"] != "InternalException", f"{path}: a fault of the server: {body}"
    assert response.status_code in (500, 503), f"{path}: {response.status_code}"


@schemathesis.check
def request_id_everywhere(ctx, response, case):
    assert response.headers.get("x-request-id"), f"{case.operation.label}: no X-Request-Id"


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines_serializer(ctx, value):
    return value.encode("utf-8", "replace") if isinstance(value, str) else str(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Another password of root would make everything after it a refusal, and a shutdown ends the run."""
    query = case.query or {}
    if case.method.upper() == "PUT" and query.get("name") == "root":
        case.query["name"] = "kim"
    if isinstance(case.body, dict) and "shutdown" in str(case.body.get("command", "")).lower():
        case.body["command"] = "list databases"
