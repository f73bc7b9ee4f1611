"""Message content, if the user asked for it: as JSON on spans, structured in log events.

With content off nothing here is called.
"""

import json
from typing import Any

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Record, Response, encodable, json_text, tool_definitions

_WITHOUT = frozenset(("embeddings.create", "memory.store", "agent.lifecycle", "mcp.resource.read", "mcp.prompt.get"))
"""Kinds whose content the conventions have no attributes for."""


def captured(op: Record) -> dict[str, Any]:
    """The content of an operation by attribute name, structured. Unreadable content is left out and counted."""
    found: dict[str, Any] = {}
    try:
        request = op.request()
        if op.kind == "tool.execute":
            if request.arguments:
                found[semconv.GEN_AI_TOOL_CALL_ARGUMENTS] = request.arguments
            if op.error is None and op.result is not None:
                found[semconv.GEN_AI_TOOL_CALL_RESULT] = _response(op).text or str(op.result)
        elif op.kind == "retrieval.query":
            if request.inputs is not None:
                found[semconv.GEN_AI_RETRIEVAL_QUERY_TEXT] = str(request.inputs)
        elif op.kind not in _WITHOUT:
            if request.system and not op.adapter.reading.system_in_messages and op.kind != "run":
                found[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": request.system}]
            if request.messages:
                found[semconv.GEN_AI_INPUT_MESSAGES] = request.messages
            if op.kind == "llm.call" and (tools := tool_definitions(request.lent_tool_definitions)):
                found[semconv.GEN_AI_TOOL_DEFINITIONS] = tools
            if op.error is None and (messages := _response(op).messages):
                found[semconv.GEN_AI_OUTPUT_MESSAGES] = list(messages)
    except Exception as error:
        internal.report("extract.content", error, lost=1)
    return found


def _response(op: Record) -> Response:
    return Response(op.adapter.reading.output(op.whole) if op.result is not None else ())


def as_text(found: dict[str, Any]) -> dict[str, Any]:
    """The content as span attributes, which cannot be structured: strings as they are, everything else as JSON."""
    return {key: encodable(value) if isinstance(value, str) else json_text(value) for key, value in found.items()}


def structured(found: dict[str, Any]) -> dict[str, Any]:
    """The content as attributes of a log event, reduced to types that one can hold."""
    return json.loads(encodable(json_text(found, ensure_ascii=False)))


def as_values(op: Record, found: dict[str, Any]) -> dict[str, Any]:
    """The input and output of an agent or tool, under the names for readers that show nothing else.

    For an agent these are its last input and output messages, as text if they have any.
    """
    values: dict[str, Any] = {}
    if op.kind == "tool.execute":
        values = {
            semconv.INPUT_VALUE: found.get(semconv.GEN_AI_TOOL_CALL_ARGUMENTS),
            semconv.OUTPUT_VALUE: found.get(semconv.GEN_AI_TOOL_CALL_RESULT),
        }
    elif op.kind == "agent.invoke":
        values = {
            semconv.INPUT_VALUE: _last(found.get(semconv.GEN_AI_INPUT_MESSAGES)) or op.request().inputs,
            semconv.OUTPUT_VALUE: _last(found.get(semconv.GEN_AI_OUTPUT_MESSAGES)),
        }
    return as_text({name: value for name, value in values.items() if value})


def _last(messages: Any) -> Any:
    return (Response(messages[-1:]).text or messages[-1]) if messages else None
