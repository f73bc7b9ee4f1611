"""The library's own events and spans, and its older callbacks: what they tell of a result waits until hooks have
decided about it.

They are the application's: spanhook starts none and adds nothing to them. This is read while the library is being
imported, and imports none of it.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, cast

from spanhook.gating import Plan, Registry
from spanhook.instrument.layers import LLAMA_INDEX_MODEL, LLAMA_INDEX_TOOL
from spanhook.model import Deferred, Record, current

Tell = Callable[..., Any]
_LAYERS = frozenset((LLAMA_INDEX_MODEL, LLAMA_INDEX_TOOL))
_PARTS = frozenset(("LLMChatInProgressEvent", "LLMCompletionInProgressEvent"))
_ENDS = frozenset(("LLMChatEndEvent", "LLMCompletionEndEvent"))
_ANSWERS = ("response", "completion")
"""Where the older callbacks have an answer."""


def wanted(_hooks: Registry) -> bool:
    """Always: a call under way keeps its hooks, whatever hooks are active when it ends."""
    return True


def event(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an event must wait now."""
    given = args[0] if args else kwargs.get("event")
    name = type(given).__name__
    if name not in _PARTS and name not in _ENDS:
        return False
    return _held(tell, args, kwargs, _event)


def span(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the end of a span must wait now; that of one whose result is a stream tells nothing of it."""
    result = kwargs.get("result")
    is_told = result is not None and not isinstance(result, Iterator | AsyncIterator)
    return is_told and _held(tell, args, kwargs, _span)


def callback(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the end of an event of the older callbacks must wait now."""
    payload = kwargs.get("payload", args[1] if len(args) > 1 else None)
    tells = isinstance(payload, Mapping) and any(name in payload for name in _ANSWERS)
    return tells and _held(tell, args, kwargs, _callback)


def _held(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any], change: "Change") -> bool:
    op = current.get()
    if type(op) is not Record or op.plan is None or op.adapter.layer not in _LAYERS or not _decides(op, op.plan):
        return False
    for way in op.deferred.outputs:
        if isinstance(way, Told):
            way.waiting.append((tell, args, kwargs, change))
            return True
    told = Told(op)
    told.waiting.append((tell, args, kwargs, change))
    op.part(Deferred).outputs += (told,)
    return True


def _decides(op: Record, plan: Plan) -> bool:
    """Whether hooks will decide about the result before anybody gets it."""
    if not op.called or op.returned_ns:
        return False
    hooks = (*plan.buffers, *plan.windows) if op.stream.streamed else plan.results
    return any(bound.concerns(op) for bound in hooks)


Change = Callable[[tuple[Any, ...], dict[str, Any], Any], tuple[tuple[Any, ...], dict[str, Any]] | None]
"""Puts what hooks decided in the place of a result: ``None`` if there is nothing to tell then."""


class Told:
    """What one call would have told."""

    def __init__(self, op: Record) -> None:
        self._op = op
        self.waiting: list[tuple[Tell, tuple[Any, ...], dict[str, Any], Change]] = []

    def out(self) -> Iterator[Callable[[bool], Any]]:
        """Tell it: of what hooks have changed, the end only."""
        op = self._op
        changed = op.error is not None or op.decided.replaced or op.stream.reworded
        while self.waiting:
            tell, args, kwargs, change = self.waiting.pop(0)
            if changed:
                told = change(args, kwargs, None if op.error is not None else _result(op))
                if told is None:
                    continue
                args, kwargs = told
            yield lambda _awaits, tell=tell, args=args, kwargs=kwargs: tell(*args, **kwargs)


def _result(op: Record) -> Any:
    """What hooks have made of a result; of a stream, all of it."""
    return getattr(op.result, "response", op.result) if op.stream.streamed else op.result


def _event(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    given = args[0] if args else kwargs["event"]
    if type(given).__name__ in _PARTS:
        return None
    given.response = result
    return args, kwargs


def _span(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, {**kwargs, "result": result}


def _callback(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    payload: Any = kwargs.get("payload", args[1] if len(args) > 1 else None)
    told = {name: result if name in _ANSWERS else one for name, one in cast("Mapping[Any, Any]", payload).items()}
    return (args[:1] if len(args) > 1 else args) + args[2:], {**kwargs, "payload": told}
