"""Programs whose code a model has written (``Flex``), and what that code calls: tools that are plain functions, too,
which the library does not make ``Tool``s of there.
"""

from typing import Any

from dspy import Prediction, Tool

from spanhook.instrument.dspy.code import PYTHON
from spanhook.instrument.functions import Functions
from spanhook.instrument.signatures import Signature
from spanhook.model import Args, Kwargs

_ENTRY = Signature("tool")


class Plain(Tool):
    """A function as a tool, called as it is."""

    def __call__(self, **kwargs: Any) -> Any:
        return self.func(**kwargs)


def entered(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A tool is about to be given to the interpreter."""
    tool = _ENTRY.given(args, kwargs, "tool")
    if getattr(tool, "func", None) is not None:
        return args, kwargs
    name = getattr(tool, "__name__", type(tool).__name__)
    return _ENTRY.having(args, kwargs, tool=Plain.model_construct(func=tool, name=name, desc=tool.__doc__ or ""))


def _answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return instance._to_prediction(value) if isinstance(value, dict) else value


#: ``BridgeRuntime.forward(inputs)``, which runs the code.
FLEX_CODE = Functions(
    layer="dspy.code",
    name=lambda _instance, _args, _kwargs: PYTHON,
    arguments=lambda instance, _args, _kwargs: {"code": instance._module_src},
    output=lambda result: result.toDict() if isinstance(result, Prediction) else str(result),
    answer=_answer,
).adapter()
