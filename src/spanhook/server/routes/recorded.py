"""Sample contexts for dry runs from recorded spans: what was captured of an operation, and what was not."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from spanhook import semconv
from spanhook.server.problems import Problem
from spanhook.server.routes.hook_models import shallow
from spanhook.store.control import Database, RunDetail, StoredSpan, run_detail

_TARGETS = (semconv.GEN_AI_TOOL_NAME, semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_REQUEST_MODEL)
_CAPTURED: Mapping[str, tuple[str, ...]] = {
    "llm.call": ("messages", "result"),
    "tool.execute": ("arguments", "result"),
    "agent.invoke": ("messages", "result"),
    "retrieval.query": ("inputs", "result"),
}
"""What operations of a kind have that is captured only if that is set; of other kinds, nothing is."""
_OTHERS = ("inputs", "result")


@dataclass(frozen=True, slots=True)
class Recorded:
    """An operation as it was recorded.

    Attributes:
        kind: Its kind.
        sample: A sample context for a dry run.
        missing: The keys that are not in it because they were not captured.
    """

    kind: str
    sample: dict[str, Any]
    missing: list[str]


def kind_of(event: str) -> str:
    """The kind of an event, such as ``tool.execute`` of ``tool.execute.pre``."""
    kind, _, phase = event.rpartition(".")
    return kind if phase in semconv.PHASES else event


async def recorded(database: Database, tenant: str | None, run_id: str, span_id: str) -> Recorded:
    """An operation as it was recorded.

    Args:
        database: The database.
        tenant: Whose run it has to be; ``None`` for anybody's.
        run_id, span_id: The run, and the span in it.

    Raises:
        Problem: There is no such span, or another instrumentation has made it.
        StoreError: The database cannot be used now.
    """
    found = await run_detail(database, tenant, run_id)
    if found is None:
        raise Problem("not_found", f"there is no run {run_id!r} here")
    span = next((one for one in found.spans if one.span_id == span_id), None)
    if span is None:
        raise Problem("not_found", f"the run {run_id!r} has no span {span_id!r}")
    if not span.kind:
        raise Problem("invalid", f"the span {span_id!r} is of another instrumentation; expected one of spanhook's")
    return _of(found, span)


def _of(run: RunDetail, span: StoredSpan) -> Recorded:
    found = dict[str, Any]()
    for log in run.logs:
        if log.span_id == span.span_id and log.event_name == semconv.EVENT_INFERENCE_DETAILS:
            found |= log.attributes
    found |= span.attributes
    sample: dict[str, Any] = {
        "name": _first(found, *_TARGETS),
        "names": found.get(semconv.NAMES, ""),
        "model": _first(found, semconv.GEN_AI_REQUEST_MODEL),
        "provider": _first(found, semconv.GEN_AI_PROVIDER_NAME),
        "tenant_id": span.tenant_id or run.run.tenant_id,  # of the key, whatever attributes say
        "user_id": _first(found, semconv.USER_ID) or run.run.user_id,
        "session_id": _first(found, semconv.SESSION_ID) or run.run.session_id,
        "error": (span.message or _first(found, semconv.ERROR_TYPE) or "failed") if span.failed else "",
        **_content(found),
    }
    expected = _CAPTURED.get(span.kind, _OTHERS)
    missing = [name for name in expected if name not in sample and not (name == "result" and span.failed)]
    return Recorded(span.kind, {name: value for name, value in sample.items() if value != ""}, missing)


def _content(found: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent and came back. What cannot be read any more, such as JSON that was cut off, is left out."""
    content = dict[str, Any]()
    messages = _json(found.get(semconv.GEN_AI_INPUT_MESSAGES))
    if isinstance(messages, list):
        content["messages"] = messages
    system = _json(found.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS))
    if isinstance(system, list):
        content["system"] = _text_of(cast("list[Any]", system))
    arguments = _json(found.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS))
    if isinstance(arguments, dict):
        content["arguments"] = arguments
    if isinstance(query := found.get(semconv.GEN_AI_RETRIEVAL_QUERY_TEXT), str):
        content["inputs"] = query
    if (result := found.get(semconv.GEN_AI_TOOL_CALL_RESULT)) is not None:
        read = _json(result)
        content["result"] = str(result) if read is None else read
    answer = _json(found.get(semconv.GEN_AI_OUTPUT_MESSAGES))
    if isinstance(answer, list):
        content["result"] = answer
    return content


def _text_of(parts: list[Any]) -> str:
    texts = [cast("dict[str, Any]", one).get("content") for one in parts if isinstance(one, dict)]
    return "".join(one for one in texts if isinstance(one, str))


def _json(value: Any) -> Any:
    try:
        found: Any = json.loads(value) if isinstance(value, str) else value
        shallow({"": found})
    except (ValueError, RecursionError):
        return None
    return found


def _first(found: Mapping[str, Any], *names: str) -> str:
    values = [found.get(name) for name in names]
    return next((value for value in values if isinstance(value, str) and value), "")
