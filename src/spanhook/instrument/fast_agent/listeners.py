"""What models send to listeners while they answer: it waits, if hooks hold answers back until they have decided.

This is read while the library is being imported, and imports none of it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from spanhook.gating import Plan, Registry
from spanhook.model import Deferred, Record, current

LAYER = "fast_agent.model"
Tell = Callable[..., Any]


def wanted(_hooks: Registry) -> bool:
    """Always: a call under way keeps its hooks, whatever hooks are active when its chunks arrive."""
    return True


def hold(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a chunk must wait now."""
    op = current.get()
    if type(op) is not Record or op.plan is None or op.adapter.layer != LAYER or not _decides(op, op.plan):
        return False
    for way in op.deferred.outputs:
        if isinstance(way, Told):
            way.calls.append((tell, args, kwargs))
            return True
    told = Told(op)
    told.calls.append((tell, args, kwargs))
    op.part(Deferred).outputs += (told,)
    return True


def _decides(op: Record, plan: Plan) -> bool:
    """Whether hooks will decide about the answer before anybody gets it."""
    if not op.called or op.returned_ns:
        return False
    return any(bound.concerns(op) for bound in (*plan.buffers, *plan.windows))


class Told:
    """What one call of a model would have sent to listeners."""

    def __init__(self, op: Record) -> None:
        self._op = op
        self.calls: list[tuple[Tell, tuple[Any, ...], dict[str, Any]]] = []

    def out(self) -> Iterator[Callable[[bool], Any]]:
        """Release the chunks; none, if hooks have changed or refused what they say."""
        op = self._op
        if op.error is not None or op.decided.replaced or op.stream.reworded:
            self.calls.clear()
        while self.calls:
            tell, args, kwargs = self.calls.pop(0)
            yield lambda _awaits, tell=tell, args=args, kwargs=kwargs: tell(*args, **kwargs)
