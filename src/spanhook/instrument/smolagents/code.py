"""Code that a model has written: a call of an executor, local or not, is the tool ``python_interpreter``.

That is what the library calls it in what it yields and remembers. Tools that the code calls are calls of their own,
where the executor runs in this process.
"""

from typing import Any

from smolagents.local_python_executor import CodeOutput

from spanhook import semconv
from spanhook.instrument.smolagents.arguments import CODE as CALL
from spanhook.instrument.wire import encoded
from spanhook.model import Adapter, Args, Attributes, Change, Editing, Kwargs, Message, Reading, Request

NAME = "python_interpreter"


def code_start(_instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_TOOL_NAME: NAME, semconv.GEN_AI_TOOL_TYPE: "function"}


def code_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    code = CALL.given(args, kwargs, "code_action")
    return Request(arguments={"code": code}, inputs=code)


def code_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    code = change.inputs if change.arguments is None else change.arguments["code"]
    return (args, kwargs) if code is None else CALL.having(args, kwargs, code_action=code)


def code_output(result: Any) -> list[Message]:
    """What the code has printed, and its last value."""
    if not isinstance(result, CodeOutput):
        return []
    told = encoded({"output": str(result.output), "logs": result.logs})
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": told}]}]


def code_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> CodeOutput:
    return value if isinstance(value, CodeOutput) else CodeOutput(output=value, logs="", is_final_answer=False)


CODE = Adapter(
    kind="tool.execute",
    layer="smolagents.code",
    start=code_start,
    reading=Reading(request=code_request, output=code_output),
    editing=Editing(rewrite=code_rewrite, takes=frozenset(("arguments", "inputs")), answer=code_answer),
    traits=frozenset(("pools",)),
)
