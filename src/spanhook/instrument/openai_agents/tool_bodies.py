"""What a tool's function receives, once the SDK has validated the arguments that a model wrote.

Between the two, it calls ``FuncSchema.to_call_args`` with the validated arguments, in a coroutine: hooks that have to
be awaited are asked outside of it, and the tool is called once more.
"""

import json
from typing import Any

from agents.function_schema import FuncSchema

from spanhook.instrument.receivers import is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Request, copied


class ReadArguments(str):
    """Arguments as JSON, which have been read.

    Attributes:
        values: The arguments by name, of which JSON has no form of its own for all.
    """

    __slots__ = ("__dict__",)

    values: dict[str, Any]

    @classmethod
    def of(cls, values: dict[str, Any]) -> "ReadArguments":
        made = cls(json.dumps(values, ensure_ascii=False, default=str))
        made.values = values
        return made


def _data(args: Args, kwargs: Kwargs) -> Any:
    """The validated arguments: a model with a field for each of them."""
    return args[0] if args else kwargs["data"]


def _arguments(schema: Any, args: Args, kwargs: Kwargs, shown: Any) -> Any:
    data = _data(args, kwargs)
    held, fields = object.__getattribute__(data, "__dict__"), type(data).model_fields
    arguments: dict[str, Any] = {}
    for place, (name, parameter) in enumerate(schema.signature.parameters.items()):
        if name not in held or (place == 0 and schema.takes_context):
            continue
        known = getattr(fields.get(name), "alias", None) or name
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if held[name] or not several or known in shown:
            arguments[known] = held[name]
    return arguments


def _validated(
    schema: Any, _args: Args, _kwargs: Kwargs, request: Request, _attributes: Attributes
) -> tuple[Args, Kwargs]:
    return (schema.params_pydantic_model(**copied(request.arguments)),), {}


def _belongs(_tool: Any, _schema: Any) -> bool:
    return True  # the call of the tool is the operation


ARGUMENTS = Receipt(arguments=_arguments, validated=_validated, inside=True, belongs=_belongs)


def is_function(tool: Any) -> bool:
    """Whether a tool is sure to call a function of the application's with what ``to_call_args`` returns."""
    held = vars(tool).get("on_invoke_tool")  # without the wrapper that its attribute gives
    if _is_made(held) or (type(held).__module__ == _MODULE and _is_made(getattr(held, "_invoke_tool_impl", None))):
        return is_received(FuncSchema, "to_call_args")
    return False


def _is_made(function: Any) -> bool:
    """Whether it is of the SDK's own code: what ``functools.wraps`` copies to another function does not say so."""
    globals_ = getattr(function, "__globals__", None)
    return bool(globals_) and globals_["__name__"] == _MODULE and function.__qualname__.startswith(_MADE)


_MODULE = "agents.tool"
_MADE = "function_tool.<locals>"
"""What functions that the SDK's decorator makes have in their names."""
