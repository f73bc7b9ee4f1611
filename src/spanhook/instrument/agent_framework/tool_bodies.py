"""What a tool's function receives from ``invoke``, which validates: newer versions have a method that calls it."""

from typing import Any

from agent_framework import FunctionTool

from spanhook.instrument.receivers import has_own, is_of, is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Receiving, Request, copied

_CALLING = "_invoke_function"


def received_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    own = has_own(instance, "invoke", _CALLING)
    return not own and is_of(type(instance), "invoke", FunctionTool) and is_received(type(instance), _CALLING)


RECEIVING = Receiving(later=received_later) if hasattr(FunctionTool, _CALLING) else None


def _call(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return dict(args[0] if args else kwargs["call_kwargs"])


def _arguments(_tool: Any, args: Args, kwargs: Kwargs, _shown: Any) -> Any:
    return _call(args, kwargs)


def _visible(tool: Any, arguments: Any) -> Any:
    return {name: value for name, value in arguments.items() if name != tool._context_parameter_name}


def _validated(tool: Any, args: Args, kwargs: Kwargs, request: Request, _attributes: Attributes) -> tuple[Args, Kwargs]:
    injected = {name: value for name, value in _call(args, kwargs).items() if name == tool._context_parameter_name}
    return ({**tool._prepare_arguments(copied(request.arguments)), **injected},), {}


FUNCTION = Receipt(arguments=_arguments, visible=_visible, validated=_validated)
