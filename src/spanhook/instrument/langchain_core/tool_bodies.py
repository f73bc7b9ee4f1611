"""What the bodies of tools, ``_run`` and ``_arun``, receive once the tool's schema has read the input.

A tool's input is what it was called with. Its body has an argument for each field of the schema, what the framework
injects (state, store, runtime), and a callback manager and configuration if it takes them.
"""

from collections.abc import Mapping
from itertools import repeat
from operator import is_
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool, base
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from spanhook import semconv
from spanhook.identity import ByIdentity
from spanhook.instrument.langchain_core.tool_inputs import text_name, visible
from spanhook.instrument.receivers import has_own, is_of, is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Request, copied, first, with_first

_ATOMS: frozenset[type] = frozenset((str, int, float, bool, type(None)))
_ABSENT = repeat(object())
_ADDED = frozenset(("run_manager", "config"))
"""What ``run`` adds to the arguments of LangChain's own tools."""
_added = ByIdentity[type, frozenset[str]]()
"""What it adds to those of other tools; an argument of theirs may be called ``config``."""


def added(instance: Any) -> frozenset[str]:
    """The names of what ``run`` adds to the arguments of a tool's body."""
    cls = type(instance)
    if cls is StructuredTool or cls is Tool:
        return _ADDED
    known = _added.get(cls)
    if known is None:
        found = (base._get_runnable_config_param(body) for body in (instance._run, instance._arun))
        known = _added[cls] = frozenset(("run_manager", *filter(None, found)))
    return known


def tool_shown(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """A tool's input, as a copy: its schema may change it in place."""
    given = args[0] if args else kwargs["tool_input"]  # as `first`, without a call: each tool call comes here
    if type(given) is dict and _ATOMS.issuperset(map(type, given.values())):
        return given.copy()
    return copied(visible(instance, given)) if isinstance(given, Mapping) else given or ""


def tool_received(instance: Any, args: Args, kwargs: Kwargs, arguments: Any) -> tuple[Args, Kwargs]:
    """The call of ``run`` whose input is what the body receives."""
    given = first(args, kwargs, "tool_input")
    if isinstance(given, Mapping) and isinstance(arguments, Mapping):
        shown = visible(instance, given)
        arguments = {**{name: value for name, value in given.items() if name not in shown}, **arguments}
    return with_first(args, kwargs, "tool_input", arguments)


def tool_received_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    """Whether LangChain's own ``run`` and ``arun`` lead to the tool's body, which is looked at."""
    cls = type(instance)
    if has_own(instance, "run", "arun", "_run", "_arun") or not (
        is_of(cls, "run", BaseTool) and is_of(cls, "arun", BaseTool)
    ):
        return False
    return is_received(cls, "_run", BaseTool) and is_received(cls, "_arun", BaseTool)


# ----------------------------------------------------------------------------------------------- what arrives


def body_untouched(instance: Any, shown: Any, args: Args, kwargs: Kwargs) -> bool:
    if args:
        return len(args) == 1 and args[0] is shown
    if type(shown) is not dict:
        return False
    cls = type(instance)
    if cls is StructuredTool or cls is Tool:
        more = ("run_manager" in kwargs) + ("config" in kwargs)
    else:
        more = len(added(instance) & kwargs.keys())
    if len(kwargs) - more != len(shown):
        return False
    return all(map(is_, map(kwargs.get, shown, _ABSENT), shown.values()))


def body_arguments(instance: Any, args: Args, kwargs: Kwargs, shown: Any) -> Any:
    """The arguments of the body by name; text if that is all that it receives."""
    if args:
        if len(args) == 1 and not isinstance(shown, Mapping):
            return args[0]
        names = (_only(instance, shown), *(f"argument {place}" for place in range(2, len(args) + 1)))
        kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
    arguments = dict(kwargs)
    for name in added(instance):
        arguments.pop(name, None)
    return arguments


def _only(instance: Any, shown: Any) -> str:
    """The name of what a body receives by its place. Without a schema, tools of one argument take it by any name."""
    schema = instance.args_schema
    fields = getattr(schema, "model_fields", None) or getattr(schema, "__fields__", None) or {}
    return next(iter(fields or (shown if isinstance(shown, Mapping) else ())), None) or text_name(instance)


def body_visible(instance: Any, arguments: Any) -> Any:
    """The same without what the framework injects."""
    return visible(instance, arguments) if isinstance(arguments, Mapping) else {text_name(instance): arguments}


def body_validated(
    instance: Any, _args: Args, kwargs: Kwargs, request: Request, attributes: Attributes
) -> tuple[Args, Kwargs]:
    """The arguments of the body once the tool's schema has read another input."""
    inputs = copied(request.lent_inputs)
    if isinstance(inputs, Mapping):
        inputs = {_alias(instance.args_schema, name): value for name, value in inputs.items()}
    args, arguments = instance._to_args_and_kwargs(inputs, attributes.get(semconv.GEN_AI_TOOL_CALL_ID))
    return args, {**arguments, **{name: kwargs[name] for name in added(instance) if name in kwargs}}


def _alias(schema: Any, name: Any) -> Any:
    """The name under which a schema reads a field. Hooks name the field itself, as the body does."""
    if not isinstance(schema, type):
        return name
    if issubclass(schema, BaseModelV1):
        known = schema.__fields__.get(name)
        return name if known is None or schema.__config__.allow_population_by_field_name else known.alias
    if not issubclass(schema, BaseModel) or name not in schema.model_fields:
        return name
    config, field = schema.model_config, schema.model_fields[name]
    alias = field.validation_alias or field.alias
    if alias is None or config.get("populate_by_name") or config.get("validate_by_name"):
        return name
    choices = [one for one in getattr(alias, "choices", (alias,)) if isinstance(one, str)]
    return name if name in choices or not choices else choices[0]


def body_answered(instance: Any, result: Any) -> Any:
    return (result, None) if instance.response_format == "content_and_artifact" else result


TOOL_BODY = Receipt(
    untouched=body_untouched,
    arguments=body_arguments,
    visible=body_visible,
    validated=body_validated,
    answered=body_answered,
)
