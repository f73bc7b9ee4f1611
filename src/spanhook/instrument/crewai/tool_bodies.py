"""What a tool's code receives: what its schema has made of the arguments, in ``_validate_kwargs`` or ``_parse_args``.

These are called before the code, by the tool's own methods; an agent's use of a tool may call them several times.
"""

from typing import Any

from crewai.tools import BaseTool
from crewai.tools.structured_tool import CrewStructuredTool

from spanhook.instrument.receivers import has_own, is_of, is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Record, Request, copied, current


def _arguments(_tool: Any, args: Args, _kwargs: Kwargs, _shown: Any) -> Any:
    return dict(args[0])


def _invoked(_tool: Any, args: Args, _kwargs: Kwargs, shown: Any) -> Any:
    """``invoke`` also passes on what it is called with beside its input, which is not validated."""
    op = current.get()
    beside = op.kwargs if isinstance(op, Record) and isinstance(shown, dict) else ()
    return {**{name: shown[name] for name in beside if name in shown}, **args[0]}


def _belongs(_instance: Any, _tool: Any) -> bool:
    return True  # an operation may be the use of the tool, by an agent or a model


def _validated(
    tool: Any, _args: Args, _kwargs: Kwargs, request: Request, _attributes: Attributes
) -> tuple[Args, Kwargs]:
    return (tool._validate_kwargs(copied(request.arguments)),), {}


def _parsed(tool: Any, _args: Args, _kwargs: Kwargs, request: Request, _attributes: Attributes) -> tuple[Args, Kwargs]:
    return (tool._parse_args(copied(request.arguments)),), {}


VALIDATED = Receipt(arguments=_arguments, validated=_validated, inside=True, returns=True, belongs=_belongs)
PARSED = Receipt(arguments=_invoked, validated=_parsed, inside=True, returns=True, belongs=_belongs)


def run_later(instance: Any, args: Args, _kwargs: Kwargs) -> bool:
    """Whether a tool validates its arguments: not those that are given by position."""
    cls = type(instance)
    if args or has_own(instance, "run", "arun", "_validate_kwargs") or not is_received(BaseTool, "_validate_kwargs"):
        return False
    owners = (next(one for one in cls.__mro__ if name in one.__dict__) for name in ("run", "arun", "_validate_kwargs"))
    return all(one.__module__ == BaseTool.__module__ for one in owners)


def invoked_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    cls = type(instance)
    if has_own(instance, "invoke", "ainvoke", "_parse_args"):
        return False
    own = all(is_of(cls, name, CrewStructuredTool) for name in ("invoke", "ainvoke", "_parse_args"))
    return own and is_received(cls, "_parse_args")
