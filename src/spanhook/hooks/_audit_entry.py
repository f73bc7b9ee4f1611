"""What an audit log records of an operation, as strings and whole numbers only."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from spanhook.model import DecisionRecord, Operation, encodable, exact_text
from spanhook.store import digest

Content = Literal["none", "arguments", "full"]


def operation_entry(op: Operation, content: Content, key: bytes | None) -> dict[str, Any]:
    """The record of an operation that has ended.

    Args:
        op: The operation.
        content: What is kept of requests and results besides their digests.
        key: The key of the digests, or ``None``.
    """
    entry = _about(op, "operation")
    entry["status"], entry["called"], entry["in_hook"] = op.status, op.called, op.in_hook
    entry["duration_ns"] = int(op.duration * 1e9)
    entry["decisions"] = [decision_entry(one) for one in op.decisions]
    if op.error is not None:
        entry["error"] = encodable(type(op.error).__qualname__)
    used = op.usage
    if used.total_tokens or used.cost_nano:
        entry["usage"] = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost_nano_usd": used.cost_nano,
        }
    entry |= _content(op, content, key)
    return entry


def shadow_entry(op: Operation, decision: DecisionRecord) -> dict[str, Any]:
    """The record of a decision in shadow mode."""
    return _about(op, "shadow_decision") | {"decisions": [decision_entry(decision)]}


def decision_entry(decision: DecisionRecord) -> dict[str, Any]:
    """One decision of a hook."""
    return {
        "hook": encodable(decision.hook),
        "event": decision.event,
        "decision": decision.decision,
        "reason": encodable(str(decision.reason)),
        "status_code": decision.status_code,
        "mode": decision.mode,
        "fail_mode": decision.fail_mode,
        "time_ns": decision.time_ns,
        **(
            {"facts": {encodable(name): _fact(value) for name, value in decision.facts.items()}}
            if decision.facts
            else {}
        ),
    }


def _fact(value: str | bool | float) -> Any:
    return encodable(value) if isinstance(value, str) else value


def _about(op: Operation, kind: str) -> dict[str, Any]:
    identity, span = op.identity, op.span.get_span_context()
    given = {
        "tenant_id": identity.tenant_id,
        "user_id": identity.user_id,
        "session_id": identity.session_id,
        "run_id": identity.run_id,
        "agent_id": identity.agent_id,
    }
    return {
        "kind": kind,
        "operation": op.kind,
        "name": encodable(op.name),
        "model": encodable(op.model),
        "provider": encodable(op.provider),
        "tool_call_id": encodable(op.tool_call_id),
        "trace_id": f"{span.trace_id:032x}",
        "span_id": f"{span.span_id:016x}",
        **{name: encodable(value if type(value) is str else exact_text(value)) for name, value in given.items()},
    }


def _content(op: Operation, content: Content, key: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, read in (("request", _request), ("result", _result)):
        try:
            value = read(op)
            if value is None:
                continue
            text = as_text(value)
        except Exception:  # an adapter or an object of the application; the record is kept all the same
            found[f"{name}_unreadable"] = True
            continue
        found[f"{name}_digest"] = digest(text.encode(), key)
        if content == "full" or (content == "arguments" and name == "request" and op.kind == "tool.execute"):
            found[name] = text
    return found


def _request(op: Operation) -> Any:
    request = op.request
    if op.kind == "tool.execute":
        return request.arguments
    if op.kind == "llm.call":
        return {"messages": request.messages, "system": request.system, "model": request.model}
    return without_credentials(request.inputs) if op.kind == "request" else request.inputs


def _result(op: Operation) -> Any:
    if op.kind == "llm.call":
        return op.response.messages or None
    if op.kind == "tool.execute":
        return op.response.value
    return without_credentials(op.result) if op.kind == "request" else op.result


def without_credentials(told: Any) -> Any:
    """An HTTP request or response as it is kept: whoever reads it must not be able to act as its sender."""
    known = cast("Mapping[str, Any]", told)
    if not isinstance(told, Mapping) or not isinstance(known.get("headers"), Mapping):
        return known
    headers = {name: "(not kept)" if name in _CREDENTIALS else value for name, value in known["headers"].items()}
    return {**known, "headers": headers}


_CREDENTIALS = frozenset(("authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key"))
"""Headers that let whoever has them act as the sender."""


def as_text(value: object) -> str:
    """A value as canonical JSON: the text that digests are of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=plain)


def plain(value: Any) -> Any:
    """A value that JSON does not know, as one that it does."""
    if isinstance(value, Mapping):
        return {exact_text(name): one for name, one in cast("Mapping[object, object]", value).items()}
    if isinstance(value, set | frozenset):
        return sorted(map(as_text, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return str(value)
