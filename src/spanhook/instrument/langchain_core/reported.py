"""What models have reported, kept before callbacks get the answer, which they may edit.

It must not import the library, whose own import may be in progress.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from spanhook.engine import acalled_back as _acalled_back
from spanhook.engine import called_back as _called_back
from spanhook.model import Args, Kwargs, Record, copied, current, current_record

_PLACE = 3
"""The place of the answer among the arguments of an event."""


def called_back(wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Pass an event to callbacks."""
    if args[1:2] == ("on_llm_end",):
        _keep(args)
    return _called_back(wrapped, args, kwargs)


def acalled_back(wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Awaitable[Any]:
    """``called_back`` for a coroutine function."""
    if args[1:2] == ("on_llm_end",):
        _keep(args)
    return _acalled_back(wrapped, args, kwargs)


def _keep(args: Args) -> None:
    op, answer = current.get(), args[_PLACE] if len(args) > _PLACE else None
    if type(op) is not Record or op.kind != "llm.call" or op.streamed or op.ended:
        return
    kept: dict[int, tuple[Any, Any]] = op.__dict__.setdefault("reports", {})
    output = getattr(answer, "llm_output", None)
    kept[id(output)] = output, copied(output)
    for generations in getattr(answer, "generations", ()):
        for one in generations:
            message = getattr(one, "message", None)
            kept[id(message)] = message, copied(getattr(message, "usage_metadata", None))


def reported_by(owner: Any, now: Any) -> Any:
    """What a message, or an output, has reported; if that was nothing, a callback may know better.

    Args:
        owner: The message, or the output.
        now: What it says now.
    """
    op = current_record()
    kept = None if op is None else op.__dict__.get("reports")
    found = None if kept is None else kept.get(id(owner))
    return now if found is None or not found[1] else found[1]
