"""What a policy is told of an operation: its kind, phase and name, and what ``send`` names; nothing else."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_jsonable_python

from spanhook.hooks.remote_policy._verdict import Unsendable
from spanhook.model import Operation


def _body(op: Operation) -> str | None:
    if op.kind != "request":
        return None
    try:
        return op.request.body.decode("utf-8")
    except UnicodeDecodeError:
        raise Unsendable("the body of the request is not text") from None


def _only_input(op: Operation) -> Any:
    """What a tool gets that takes no arguments by name."""
    inputs = op.request.inputs if op.kind == "tool.execute" else None
    return {} if inputs is None else inputs


def _result(op: Operation) -> Any:
    if op.kind == "llm.call":
        return list(op.response.messages)
    if op.kind == "tool.execute":
        value = op.response.value
        return op.result if value is None else value
    result: Any = op.result
    if op.kind == "request" and isinstance(result, Mapping):
        told = cast("Mapping[str, Any]", result)
        return {name: value for name, value in told.items() if name != "headers"}
    return result


_REQUEST: dict[str, Callable[[Operation], Any]] = {
    "messages": lambda op: op.request.messages,
    "system": lambda op: op.request.system,
    "tools": lambda op: op.request.tools,
    "arguments": lambda op: op.request.arguments or _only_input(op),
    "inputs": lambda op: None if op.kind == "request" else op.request.inputs,  # it has all headers
    "names": lambda op: list(op.names),
    "model": lambda op: op.request.model or op.model,
    "provider": lambda op: op.provider,
    "agent": lambda op: op.agent,
    "tool_call_id": lambda op: op.tool_call_id,
    "method": lambda op: op.request.method,
    "path": lambda op: op.request.path,
    "body": _body,
    "result": lambda op: _result(op) if op.phase == "post" else None,
}
_IDENTITY = ("tenant_id", "user_id", "session_id", "run_id", "agent_id")
NAMES = (*_REQUEST, *(f"identity.{name}" for name in _IDENTITY))
PREFIXES = ("identity.attributes.", "headers.")
CONTENT = ("messages", "arguments", "inputs", "system", "body", "result")
"""Of these, services that judge content need at least one."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a policy is told, as plain data.

    Attributes:
        kind: The kind of the operation.
        phase: ``pre`` or ``post``.
        name: The tool, agent or model.
        sent: What ``send`` names, by name, as far as the operation has it.
        sequence: The number of this question in its run.
    """

    kind: str
    phase: str
    name: str
    sent: Mapping[str, Any]
    sequence: int = 0

    @property
    def whole(self) -> dict[str, Any]:
        """All of it, nested, as engines with conditions of their own read it."""
        nested: dict[str, Any] = {"kind": self.kind, "phase": self.phase, "name": self.name}
        for name, value in self.sent.items():
            where = nested
            *outer, last = _split(name)
            for key in outer:
                where = where.setdefault(key, {})
            where[last] = value
        return nested

    @property
    def key(self) -> bytes:
        """Equal for facts that are told alike; ``1``, ``1.0`` and ``true`` are not."""
        return encoded([self.kind, self.phase, self.name, dict(self.sent)])

    def items(self, name: str) -> list[Any]:
        """A fact that is a list; empty if it is not sent."""
        value = self.sent.get(name)
        return cast("list[Any]", value) if isinstance(value, list) else []

    def text(self, name: str) -> str:
        """A fact that is text; empty if it is not sent."""
        value = self.sent.get(name)
        return value if isinstance(value, str) else ""


def is_known(name: str) -> bool:
    """Whether ``send`` may have this name."""
    return name in NAMES or any(name.startswith(prefix) and name != prefix for prefix in PREFIXES)


def facts_of(op: Operation, send: Sequence[str], sequence: int = 0) -> Facts:
    """What is to be told of an operation.

    Raises:
        Unsendable: A value cannot be written as JSON.
    """
    sent: dict[str, Any] = {}
    for name in send:
        value = _read(op, name)
        if value is not None or (name == "result" and op.phase == "post"):
            sent[name] = _plain(value, name)
    return Facts(op.kind, op.phase, op.name, sent, sequence)


def encoded(value: Any) -> bytes:
    """JSON as it is sent.

    Raises:
        Unsendable: It cannot be written as JSON that every reader understands.
    """
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        raise Unsendable("what is to be sent cannot be written as JSON") from None


def _plain(value: Any, name: str) -> Any:
    try:
        plain = to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError):
        raise Unsendable(f"{name} cannot be written as JSON") from None
    encoded(plain)
    return plain


def _read(op: Operation, name: str) -> Any:
    if name in _REQUEST:
        return _REQUEST[name](op)
    if name.startswith("headers."):
        return op.request.headers.get(name.removeprefix("headers.").lower())
    if name.startswith("identity.attributes."):
        return op.identity.attributes.get(name.removeprefix("identity.attributes."))
    return getattr(op.identity, name.removeprefix("identity."))


def _split(name: str) -> list[str]:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return [*prefix.strip(".").split("."), name.removeprefix(prefix)]
    return name.split(".")
