"""Code that a model has written, before ``ProgramOfThought``, ``CodeAct`` and ``RLM`` run it. The model is told of a
refusal, as of any error in its code.
"""

import json
from dataclasses import replace
from typing import Any, cast

from spanhook.instrument.functions import Functions
from spanhook.instrument.signatures import Signature

PYTHON = "python_interpreter"
_CALL = Signature("code", "interpreter")
_RLM_CALL = Signature("repl", "code", "input_args")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _functions(call: Signature) -> Functions:
    return Functions(
        layer="dspy.code",
        name=lambda _instance, _args, _kwargs: PYTHON,
        arguments=lambda _instance, args, kwargs: {"code": call.given(args, kwargs, "code")},
        with_arguments=lambda _instance, args, kwargs, given: call.having(args, kwargs, **given),
    )


def _said(result: Any) -> Any:
    """The output, or the error in its place."""
    output, error = cast("tuple[Any, Any]", result)
    return output if error is None else error


def _fault(result: Any) -> str:
    return "" if result[1] is None else "tool_error"


#: ``_execute_code(code, interpreter)``, which returns output as text, and an error.
CODE = replace(
    _functions(_CALL),
    output=_said,
    answer=lambda _instance, _args, _kwargs, value: value if isinstance(value, tuple) else (_text(value), None),
    rejected=lambda _instance, _args, _kwargs, reason: (None, reason),
    fault=_fault,
).adapter()

_ERROR = "[Error] "


def _shown(result: Any) -> Any:
    return result if isinstance(result, str | int | float | list | dict) else str(result)


#: ``_execute_code(repl, code, input_args)``, which returns output of any sort, or an error as text.
RLM_CODE = replace(
    _functions(_RLM_CALL),
    output=_shown,
    rejected=lambda _instance, _args, _kwargs, reason: f"{_ERROR}{reason}",
    fault=lambda result: "tool_error" if isinstance(result, str) and result.startswith(_ERROR) else "",
).adapter()
