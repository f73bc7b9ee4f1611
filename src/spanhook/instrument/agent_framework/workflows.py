"""Workflows: ``run`` of graphs and of functions, which are workflows in the conventions' terms too.

Agents in them run as they do alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_framework import AgentResponse, WorkflowEvent, WorkflowRunResult
from agent_framework import Message as Native

from spanhook import semconv
from spanhook.instrument.agent_framework.chunks import waiting
from spanhook.instrument.agent_framework.contents import Part
from spanhook.instrument.agent_framework.messages import read_all
from spanhook.instrument.agent_framework.responses import output_of
from spanhook.instrument.agent_framework.streams import handing
from spanhook.instrument.identities import ids_in
from spanhook.instrument.signatures import Signature
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Message,
    Reading,
    Record,
    Request,
    Streaming,
    Usage,
    current_record,
    exact_text,
)

CALL = Signature("message")


def chosen(_instance: Any, _args: Args, kwargs: Kwargs) -> Adapter:
    return STREAM if kwargs.get("stream") else RUN


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    named = getattr(instance, "name", None) or getattr(instance, "id", None)
    return {semconv.GEN_AI_WORKFLOW_NAME: exact_text(named) or type(instance).__name__}


def _messages(given: Any) -> list[Message]:
    """What a workflow is asked, if that is text or messages."""
    items = given if isinstance(given, list) else [given]
    return read_all(items) if all(isinstance(one, str | Native) for one in items) else []


def run_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    message = CALL.given(args, kwargs, "message")
    return Request(messages=_messages(message), inputs=message)


def run_identity(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    found = ids_in((kwargs.get("function_invocation_kwargs"), kwargs.get("client_kwargs")))
    return {name: value for name, value in found.items() if value}


# ------------------------------------------------------------------------------------------------- output


def run_response(result: Any) -> tuple[Attributes, Usage | None]:
    """Nothing is reported here, but whether the workflow waits for somebody is seen in its events."""
    if isinstance(result, list) and any(_waits(one) for one in result):
        waiting(current_record())
    return {}, None


def _waits(event: Any) -> bool:
    return getattr(event, "type", None) == "request_info"


def run_output(result: Any) -> list[Message]:
    """What its agents said, each as a message; other output as text."""
    outputs = result.get_outputs() if isinstance(result, WorkflowRunResult) else ()
    return [message for one in outputs for message in _said(one)]


def _said(output: Any) -> list[Message]:
    if isinstance(output, AgentResponse):
        return output_of(output)
    parts: list[Part] = [{"type": "text", "content": str(getattr(output, "text", None) or output)}]
    return [{"role": "assistant", "parts": parts}]


def run_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    if isinstance(value, WorkflowRunResult):
        return value
    raise TypeError("the answer of a workflow is one of its results; refuse it, or answer its agents' calls")


def run_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Sequence[Any]:
    return list(run_answer(instance, args, kwargs, value))


class Events:
    """The events of a workflow's stream; keeps them only if ``keep``."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._op: Record | None = current_record()
        self._kept: list[Any] = []
        self._pending = False

    def add(self, chunk: Any) -> bool:
        if self.keep:
            self._kept.append(chunk)
        self._pending = self._pending or _waits(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        if self._pending:
            waiting(self._op)
        return {}, None

    def result(self) -> Any:
        return _finalized(None, (), {}, self._kept)


def _finalized(_instance: Any, _args: Args, _kwargs: Kwargs, events: Sequence[Any]) -> Any:
    """The result that events make, as the library makes it."""
    told = [one for one in events if isinstance(one, WorkflowEvent)]
    status = [one for one in told if one.type == "status"]
    return WorkflowRunResult([one for one in told if one.type not in ("started", "status")], status)


RUN = Adapter(
    kind="run",
    layer="agent_framework.workflow",
    start=run_start,
    context=CallContext(identity=run_identity),
    reading=Reading(response=run_response, request=run_request, output=run_output),
    editing=Editing(answer=run_answer),
)
STREAM = replace(RUN, streaming=Streaming(chunks=Events, hands_out=handing(_finalized), answer_chunks=run_events))
