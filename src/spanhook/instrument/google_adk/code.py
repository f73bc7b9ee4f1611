"""Code that a model has written: a call of an executor, local or not, is the tool ``code_execution``.

That is what the conventions call it where a provider runs it. A refusal is told to the model as what the code has
written to its standard error.
"""

from dataclasses import replace
from typing import Any

from google.adk.code_executors.code_execution_utils import CodeExecutionResult

from spanhook import semconv
from spanhook.instrument.google_adk.arguments import CODE as CALL
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    copied_dataclass,
    copies,
)

copies(CodeExecutionResult)(copied_dataclass)

NAME = "code_execution"


def code_start(_instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_TOOL_NAME: NAME, semconv.GEN_AI_TOOL_TYPE: "function"}


def _given(args: Args, kwargs: Kwargs) -> Any:
    return CALL.given(args, kwargs, "code_execution_input")


def code_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    code = _given(args, kwargs).code
    return Request(arguments={"code": code}, inputs=code)


def code_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    code = change.inputs if change.arguments is None else change.arguments["code"]
    if code is None:
        return args, kwargs
    return CALL.having(args, kwargs, code_execution_input=replace(_given(args, kwargs), code=code))


def code_output(result: Any) -> list[Message]:
    """What the code has printed."""
    if not isinstance(result, CodeExecutionResult):
        return []
    told = encoded({"stdout": result.stdout, "stderr": result.stderr})
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": told}]}]


def code_fault(result: Any) -> str:
    """Why a result says that the code has failed."""
    return "tool_error" if getattr(result, "stderr", "") and not getattr(result, "stdout", "") else ""


def code_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> CodeExecutionResult:
    return value if isinstance(value, CodeExecutionResult) else CodeExecutionResult(stdout=str(value))


def code_rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> CodeExecutionResult:
    return CodeExecutionResult(stderr=reason)


CODE = Adapter(
    kind="tool.execute",
    layer="google_adk.code",
    start=code_start,
    reading=Reading(request=code_request, output=code_output, fault=code_fault),
    editing=Editing(
        rewrite=code_rewrite, takes=frozenset(("arguments", "inputs")), answer=code_answer, rejected=code_rejected
    ),
    traits=frozenset(("pools",)),
)
