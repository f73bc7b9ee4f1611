"""What a decorated function receives: what ``validate_input`` has made of a tool's input, within its stream."""

from typing import Any

from strands.tools.decorator import DecoratedFunctionTool, FunctionToolMetadata

from spanhook.instrument.receivers import has_own, is_of, is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Request, copied


def received_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    if has_own(instance, "stream"):
        return False
    return is_of(type(instance), "stream", DecoratedFunctionTool) and is_received(
        FunctionToolMetadata, "validate_input"
    )


def _arguments(_metadata: Any, args: Args, _kwargs: Kwargs, _shown: Any) -> Any:
    return dict(args[0])


def _validated(
    metadata: Any, _args: Args, _kwargs: Kwargs, request: Request, _attributes: Attributes
) -> tuple[Args, Kwargs]:
    return (metadata.validate_input(copied(request.arguments)),), {}


def _belongs(_tool: Any, _metadata: Any) -> bool:
    return True  # a tool may pass its call on to the one that it wraps


VALIDATED = Receipt(arguments=_arguments, validated=_validated, inside=True, returns=True, belongs=_belongs)
