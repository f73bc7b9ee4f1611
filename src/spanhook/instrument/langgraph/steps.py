"""Nodes of a graph: each is an operation, retries included, if a hook applies to it or the settings ask for steps."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spanhook import semconv
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    Kwargs,
    Reading,
    Request,
    exact_text,
    first,
    with_first,
)


def step_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
    name = first(args, kwargs, "task").name
    return None if name == "__start__" else {semconv.STEP_NAME: name}  # which only reads the input


def step_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=first(args, kwargs, "task").input)


def step_metadata(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """What LangGraph says of the node, and under ``action`` the name of what it runs."""
    task = first(args, kwargs, "task")
    steps: Any = getattr(task.proc, "steps", None)
    runs = steps[0] if steps else task.proc  # the node itself, and after it what writes to the state
    told: Mapping[str, Any] = (task.config or {}).get("metadata") or {}
    return {**told, "action": exact_text(getattr(runs, "name", None)) or type(runs).__name__}


def step_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if change.inputs is None:
        raise ValueError("a step takes op.replace(inputs=...)")
    task = first(args, kwargs, "task")
    return with_first(args, kwargs, "task", replace(task, input=change.inputs))


def step_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a step answers by writing to the graph's state; refuse it or rewrite its inputs instead")


STEP = Adapter(
    kind="workflow.step",
    layer="langgraph.step",
    start=step_start,
    context=CallContext(metadata=step_metadata),
    reading=Reading(request=step_request),
    editing=Editing(rewrite=step_rewrite, takes=frozenset(("inputs",)), answer=step_answer),
    traits=frozenset(("on_demand",)),
)
