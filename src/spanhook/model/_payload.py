"""What an event says as plain names and values, read when somebody asks for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spanhook.diagnostics import internal
from spanhook.model.failures import words
from spanhook.model.record import Record
from spanhook.model.request import Message, Response

if TYPE_CHECKING:
    from spanhook.model.event import Event

MOST_TOOLS = 100
"""So many names of tools an event tells at most."""
_RUNS_AN_AGENT = ("job", "cron.execute")
_CALLS = ("llm.call", "tool.execute", "embeddings.create", "retrieval.query", "memory.store")
_OF_KIND: dict[str, tuple[str, ...]] = {
    "llm.call": ("model",),
    "tool.execute": ("tool_name", "tool_call_id"),
    "agent.delegate": ("parent_agent", "child_agent"),
    "cron.execute": ("cron_id", "execution_id"),
}
_PLAIN = frozenset((dict, list, tuple, str, bytes, bool, int, float, type(None)))


def payload(event: "Event") -> dict[str, Any]:
    """What is to be said of an event, by name."""
    told: dict[str, Any] = {
        "type": event.type,
        "alias": event.alias,
        "timestamp": event.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "agent_name": event.agent_name,
        "conversation_id": event.conversation_id,
        "tenant_id": event.tenant_id,
        "run_id": event.run_id,
        "job_id": event.job_id,
        **{name: getattr(event, name) for name in _OF_KIND.get(event.kind, ())},
        "input": _read(lambda: event.input),
    }
    if event.phase == "pre":
        return told
    used = event.usage
    told |= {
        "status": event.status,
        "output": _read(lambda: event.output),
        "usage": used.as_metadata(),
        "duration_ms": event.duration_ms,
    }
    if event.kind not in _CALLS:
        told["tools_used"] = event.tools_used
    if event.kind == "llm.call":
        told |= {"prompt_tokens": event.prompt_tokens, "completion_tokens": event.completion_tokens}
    error = event.error
    if event.phase == "error" and error is not None:
        told |= {"error": words(error) or type(error).__name__, "error_type": type(error).__name__}
    return told


def _read(read: Callable[[], Any]) -> Any:
    """What the application gave or got; ``None`` where an adapter can make nothing of it."""
    try:
        return read()
    except Exception as error:
        internal.report("extract.payload", error)
        return None


# ----------------------------------------------------------------------------------------------- ids


def argument(record: Record, name: str) -> str:
    """An id among the arguments of a job or a schedule; empty where there is none."""
    found = _read(lambda: record.request().arguments.get(name))
    return "" if found is None else str(found)


def agent_name(event: "Event") -> str:
    """The agent that a job runs is the one it says, else the one it is named for."""
    if event.kind in _RUNS_AN_AGENT:
        return argument(event._record, "agent_name") or event.agent or event.name
    return event.agent


def job_id(record: Record) -> str:
    """The id of the job itself, or of the nearest one around."""
    op: Record | None = record
    while op is not None and op.kind != "job":
        op = op.parent
    return "" if op is None else argument(op, "job_id") or op.identity.run_id


# ----------------------------------------------------------------------------------------------- input and output


def given(event: "Event") -> Any:
    """What the operation was asked for."""
    request = event.request
    if event.kind == "llm.call":
        return request.messages
    if event.kind == "tool.execute":
        return request.arguments
    asked = _last_words(request.messages, "user")
    if asked:
        return asked
    return request.arguments if request.inputs is None else request.inputs


def returned(event: "Event") -> Any:
    """What it came to."""
    response: Response = event.response
    if event.kind == "llm.call":
        return list(response.messages)
    if event.kind == "tool.execute":
        value = response.value
        return value if type(value) in _PLAIN else response.text  # which is what a model is told
    return response.text or event.result


def _last_words(messages: list[Message], role: str) -> str:
    """The text of the last message in this role."""
    for message in reversed(messages):
        if message.get("role") == role:
            return "".join(str(part.get("content", "")) for part in message["parts"] if part.get("type") == "text")
    return ""
