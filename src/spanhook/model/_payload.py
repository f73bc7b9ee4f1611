"""The parts of an event that have to be worked out from its operation, when somebody asks for them."""

from collections.abc import Callable
from typing import Any

from spanhook.diagnostics import internal
from spanhook.model._view import View
from spanhook.model.encoding import exact_text
from spanhook.model.record import Record
from spanhook.model.request import Message, Response

MOST_TOOLS = 100
"""The most names of tools in one event."""
_RUNS_AN_AGENT = ("job", "cron.execute")
_PLAIN = frozenset((dict, list, tuple, str, bytes, bool, int, float, type(None)))


def readable(read: Callable[[], Any]) -> Any:
    """What ``read`` returns; ``None`` if it fails on what the application gave or got."""
    try:
        return read()
    except Exception as error:
        internal.report("extract.payload", error)
        return None


# ----------------------------------------------------------------------------------------------- ids


def argument(record: Record, name: str) -> str:
    """An id given as an argument of a job or a schedule; empty if there is none."""
    found = readable(lambda: record.request().arguments.get(name))
    return exact_text(found)


def agent_name(op: View) -> str:
    """The nearest agent; for a job or a schedule, its argument ``agent_name``, else its own name outside of agents."""
    if op.kind in _RUNS_AN_AGENT:
        return argument(op._record, "agent_name") or op.agent or op.name
    return op.agent


def job_id(record: Record) -> str:
    """The id of the job itself, or of the nearest enclosing one; empty outside of jobs."""
    op: Record | None = record
    while op is not None and op.kind != "job":
        op = op.parent
    return "" if op is None else argument(op, "job_id") or op.identity.run_id


# ----------------------------------------------------------------------------------------------- input and output


def given(op: View) -> Any:
    """What the operation was asked for."""
    request = op.request
    if op.kind == "llm.call":
        return request.messages
    if op.kind == "tool.execute":
        return request.arguments
    asked = _last_words(request.messages, "user")
    if asked:
        return asked
    return request.arguments or None if request.inputs is None else request.inputs


def returned(op: View) -> Any:
    """What the operation resulted in."""
    response: Response = op.response
    if op.kind == "llm.call":
        return list(response.messages)
    if op.kind == "tool.execute":
        value = response.value
        return value if type(value) in _PLAIN else response.text  # which is what the model sees
    return response.text if response.messages else op.result


def _last_words(messages: list[Message], role: str) -> str:
    """The text of the last message in this role."""
    for message in reversed(messages):
        if message.get("role") == role:
            return "".join(str(part.get("content", "")) for part in message["parts"] if part.get("type") == "text")
    return ""
