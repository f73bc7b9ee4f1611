"""Output functions: what a model's final answer is given to, as the arguments of a tool or as text."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spanhook import semconv
from spanhook.instrument.pydantic_ai.arguments import OUTPUT as CALL
from spanhook.instrument.pydantic_ai.tools import TOOL
from spanhook.model import Args, Attributes, Carried, Change, Kwargs, Request, exact_text, in_order


def output_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    context = CALL.given(args, kwargs, "run_context")
    schema = CALL.given(args, kwargs, "function_schema")
    named = getattr(context, "tool_name", None) or getattr(schema.function, "__name__", "output_function")
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: exact_text(named), semconv.GEN_AI_TOOL_TYPE: "function"}
    call_id = getattr(context, "tool_call_id", None)
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    description = getattr(schema, "description", None)
    if description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _arguments(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    given = CALL.given(args, kwargs, "args")
    return dict(given) if isinstance(given, Mapping) else {}


def output_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(arguments=_arguments(args, kwargs), inputs=CALL.given(args, kwargs, "args"))


def output_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(args, kwargs))]


def output_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else dict(change.arguments)
    return CALL.having(args, kwargs, args=given)


OUTPUT = replace(
    TOOL,
    layer="pydantic_ai.output",
    start=output_start,
    reading=replace(TOOL.reading, request=output_request),
    editing=replace(
        TOOL.editing,
        rewrite=output_rewrite,
        prepare=None,
        rejected=None,  # the model has given its answer, and is not asked again: the run ends
    ),
    nesting=replace(TOOL.nesting, carries=output_carries),
)
