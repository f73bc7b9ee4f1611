"""The SDK's own traces: what they say of a model's answer waits until hooks have decided about it.

They are the application's: spanhook starts none, changes no setting of theirs, and adds nothing to them. This is read
while the SDK is being imported, and imports none of it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from spanhook.gating import Plan, Registry
from spanhook.instrument.layers import AGENTS_MODEL
from spanhook.instrument.wire import plain
from spanhook.model import Deferred, Record, current

Tell = Callable[..., Any]


def wanted(_hooks: Registry) -> bool:
    """Always: a call under way keeps its hooks, whatever hooks are active when its span ends."""
    return True


def hold(tell: Tell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the end of a span must wait now."""
    op = current.get()
    if type(op) is not Record or op.plan is None or op.adapter.layer != AGENTS_MODEL:
        return False
    data = getattr(args[0], "span_data", None)
    if getattr(data, "type", "") not in ("response", "generation") or not _decides(op, op.plan):
        return False
    for way in op.deferred.outputs:
        if isinstance(way, Spans):
            way.ends.append((tell, args, kwargs))
            return True
    spans = Spans(op)
    spans.ends.append((tell, args, kwargs))
    op.part(Deferred).outputs += (spans,)
    return True


def _decides(op: Record, plan: Plan) -> bool:
    """Whether hooks will decide about the answer before anybody gets it."""
    if not op.called or op.returned_ns:
        return False
    hooks = (*plan.buffers, *plan.windows) if op.stream.streamed else plan.results
    return any(bound.concerns(op) for bound in hooks)


class Spans:
    """Spans that have ended inside one call of a model."""

    def __init__(self, op: Record) -> None:
        self._op = op
        self.ends: list[tuple[Tell, tuple[Any, ...], dict[str, Any]]] = []

    def out(self) -> Iterator[Callable[[bool], Any]]:
        op = self._op
        changed = op.error is not None or op.decided.replaced or op.stream.reworded
        while self.ends:
            tell, args, kwargs = self.ends.pop(0)
            if changed:
                _decide(args[0].span_data, None if op.error is not None else op.result)
            yield lambda _awaits, tell=tell, args=args, kwargs=kwargs: tell(*args, **kwargs)


def _decide(data: Any, result: Any) -> None:
    """Put what hooks decided in the place of the model's answer: nothing, if they refused it."""
    output: Any = getattr(result, "output", None)
    if data.type == "generation":
        data.output = None if output is None else [plain(item) for item in output]
    elif data.response is not None:
        data.response = None if output is None else data.response.model_copy(update={"output": list(output)})
