"""Nodes of workflows: each is an operation, retries included, if a hook applies to it or the settings ask for steps.

Agents are none: their runs are operations of their own.
"""

from collections.abc import Iterable
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event

from spanhook import semconv
from spanhook.instrument.google_adk.events import event_output
from spanhook.instrument.google_adk.runs import WORKFLOW, name_of
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Reading,
    Request,
    Streaming,
    Usage,
    current_record,
)


def chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a node; ``None`` for an agent, and for the workflow that its runner runs."""
    op = current_record()
    if isinstance(instance, BaseAgent):
        return None
    is_root = op is not None and op.adapter is WORKFLOW and name_of(op.instance.agent) == name_of(instance)
    return None if is_root else STEP


def step_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes | None:
    name = name_of(instance)
    return None if name == "__START__" else {semconv.STEP_NAME: name}


def step_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=kwargs.get("node_input"))


def step_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return args, {**kwargs, "node_input": change.inputs}


class Outputs:
    """What a node yields; its result is the last that has an output."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._result: Any = None

    def add(self, chunk: Any) -> bool:
        if getattr(chunk, "output", None) is not None:
            self._result = chunk
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        return self._result


def step_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Event:
    return value if isinstance(value, Event) else Event(output=value)  # pyright: ignore[reportCallIssue]


def step_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (step_answer(instance, args, kwargs, value),)


STEP = Adapter(
    kind="workflow.step",
    layer="google_adk.step",
    start=step_start,
    reading=Reading(request=step_request, output=event_output),
    editing=Editing(rewrite=step_rewrite, takes=frozenset(("inputs",)), answer=step_answer),
    streaming=Streaming(chunks=Outputs, answer_chunks=step_events),
    traits=frozenset(("on_demand",)),
)
