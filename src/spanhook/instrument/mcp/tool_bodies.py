"""What the function of a server's tool receives, once the server has validated the arguments of a request."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from spanhook.model import Args, Attributes, Kwargs, Receipt, Request, copied


def is_own(tool: Any) -> bool:
    """Whether a tool of a server is sure to call its function as the SDK's own class does."""
    return (
        tool is not None
        and type(tool).__module__.startswith("mcp.server.")
        and not getattr(tool, "resolved_params", None)
    )


def _by_name(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The arguments of ``call_fn``, by name."""
    names = ("fn", "fn_is_async", "arguments", "arguments_to_pass_directly")
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _belongs(_served: Any, _metadata: Any) -> bool:
    return True  # the operation is the request, or the call of the tool


def _arguments(_metadata: Any, args: Args, kwargs: Kwargs, _shown: Any) -> Any:
    return dict(_by_name(args, kwargs)["arguments"])


def _validated(
    metadata: Any, args: Args, kwargs: Kwargs, request: Request, _attributes: Attributes
) -> tuple[Args, Kwargs]:
    read = metadata.arg_model.model_validate(metadata.pre_parse_json(copied(request.arguments)))
    return (), {**_by_name(args, kwargs), "arguments": read.model_dump_one_level()}


FUNCTION = Receipt(arguments=_arguments, validated=_validated, belongs=_belongs)


async def call_validating(
    receive: Callable[..., Awaitable[Any]],
    wrapped: Callable[..., Awaitable[Any]],
    metadata: Any,
    args: Args,
    kwargs: Kwargs,
) -> Any:
    """``call_fn_with_arg_validation`` of version 1, which validates the arguments and calls the function with them."""
    names = ("fn", "fn_is_async", "arguments_to_validate", "arguments_to_pass_directly")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    injected: Mapping[str, Any] = given.get("arguments_to_pass_directly") or {}

    async def body(**call: Any) -> Any:
        result = call["fn"](**call["arguments"], **injected)
        return await result if call["fn_is_async"] else result

    async def function(**received: Any) -> Any:
        arguments = {name: value for name, value in received.items() if name not in injected}
        call = {"fn": given["fn"], "fn_is_async": given["fn_is_async"], "arguments": arguments}
        return await receive(body, metadata, (), call)

    return await wrapped(**{**given, "fn": function, "fn_is_async": True})
