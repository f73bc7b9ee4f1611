"""Which calls are only the transport of the enclosing operation, and so no operations themselves.

A framework's model calls a provider's client: one call, gated and counted once. The same kind and model as the
enclosing operation is not enough, because callbacks and a model's own code also make calls there. The call must carry
the gated request, identified by the last text of each prompt, or by a tool's name and arguments; a call that carries
another is gated.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, final

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.engine._callbacks import calling_back
from spanhook.engine._names import same_model, same_provider
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    EndDetails,
    InnerCalls,
    Kwargs,
    LayerCount,
    Record,
    Usage,
    carried_by,
    gated_by,
    make_encodable,
)

_running: "ContextVar[Absorbed | None]" = ContextVar("spanhook.absorbed", default=None)
"""The absorbed call in progress."""


class Part:
    """A call in which an absorbed call continues, such as one of the method that it overrides."""


PART = Part()


@final
class Absorbed:
    """A call that is the transport of the enclosing operation.

    If it fails, what it carries may be carried again, because a retry belongs to the same attempt.
    """

    __slots__ = ("_taken", "adapter", "carried", "instance", "op")

    def __init__(self, op: Record, adapter: Adapter, instance: Any, carried: Carried, *, taken: bool) -> None:
        self.op, self.adapter, self.instance, self.carried = op, adapter, instance, carried
        self._taken = taken

    def make(self, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
        """Make the call. However it ends, even by Ctrl-C, it leaves no state behind."""
        before = _running.get()
        try:
            _running.set(self)
            result = wrapped(*args, **kwargs)
            self._made()
            return result
        except BaseException:
            self.failed()
            raise
        finally:
            _running.set(before)

    async def amake(self, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
        """``make`` for a coroutine function."""
        before = _running.get()
        try:
            _running.set(self)
            result = await wrapped(*args, **kwargs)
            self._made()
            return result
        except BaseException:
            self.failed()
            raise
        finally:
            _running.set(before)

    def _made(self) -> None:
        if self.adapter.nesting.is_client:
            self.op.part(InnerCalls).transported = True

    def goes_on(self, adapter: Adapter, instance: Any, carried: Carried) -> bool:
        """Whether a call belongs to this one: on the same client, such as one of an overridden method, or of the same
        library, if this one only relays it.
        """
        same = self.instance is instance or (
            self.adapter.nesting.role == "relay" and self.adapter.layer == adapter.layer
        )
        return same and self.carried == carried

    def failed(self) -> None:
        """The call, or its stream, has failed: a retry may take its place."""
        carried = self.op.inner.carried
        if self._taken and carried is not None:
            self._taken = False
            carried[self.adapter.layer].extend(self.carried)

    def take(self, result: Any) -> None:
        """Record what the call reports, for the enclosing operation."""
        if (response := self.adapter.reading.response) is None:
            return
        try:
            attributes, used = response(result)
            is_uncounted = used is None and self._is_answered(attributes, result)
        except Exception as error:
            internal.report("extract.response", error, lost=1)
            return
        self.note(attributes, used, is_uncounted=is_uncounted)

    def _is_answered(self, attributes: Attributes, result: Any) -> bool:
        """Whether a result is an answer: neither unread, nor one that the provider still works on in the background."""
        if not attributes or self.op.kind != "llm.call" or semconv.GEN_AI_RESPONSE_FINISH_REASONS in attributes:
            return bool(attributes)
        return any(message.get("parts") for message in self.adapter.reading.output(result))

    def note(self, attributes: Attributes, used: Usage | None, *, is_uncounted: bool) -> None:
        """Give the enclosing operation what its own result does not report."""
        op = self.op
        if not make_encodable(attributes):
            op.part(EndDetails).needs_encoding = True
        op.end_attributes = attributes if op.end_attributes is None else {**op.end_attributes, **attributes}
        adapter = self.adapter
        if adapter.nesting.is_client:
            if used is not None or (is_uncounted and adapter.reading.source == "provider"):
                self.count(LayerCount(adapter.layer, adapter.reading.source, used))
        elif used is not None:  # another method of the same library
            used.come_from(adapter.reading.source)
            if self._taken and op.own_usage is not None:  # the next part of what it sends in several
                op.own_usage.add(used)
            else:
                op.own_usage = used

    def count(self, count: LayerCount) -> bool:
        """Keep what the enclosing operation is told of its use; false if that has ended, and left this call behind."""
        inner = self.op.part(InnerCalls).__dict__
        counts: list[LayerCount] | None = inner.setdefault("layer_counts", [])  # setdefault is atomic
        if counts is None:
            return False
        counts.append(count)
        return True


def absorbed(
    parent: Record, adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, attributes: Attributes, *, plain: bool
) -> Absorbed | Part | None:
    """The call as the transport of ``parent``, which directly encloses it; ``None`` if it is not its transport.

    Args:
        parent: The operation.
        adapter, instance, args, kwargs: The call.
        attributes: What it is.
        plain: Whether the SDK accepts them as they are.
    """
    if parent.kind != adapter.kind or not _open(parent):
        return None
    below = adapter.nesting.is_client
    if not below:
        if parent.adapter.layer not in adapter.nesting.transport_of or parent.instance is not instance:
            return None
    elif not _same_target(parent, attributes):
        return None
    carried = carried_by(adapter, instance, args, kwargs)
    running = _running.get()
    if running is not None and running.op is parent and below and running.goes_on(adapter, instance, carried):
        return PART
    if adapter.layer == parent.adapter.layer:  # one of its methods continues in another, at any depth
        own = gated_by(parent)
        is_same = all(one in own for one in carried)
        return Absorbed(parent, adapter, instance, carried, taken=False) if is_same else None
    claimed = _claimed(parent, adapter, instance, carried)
    if claimed is not None:
        parent.part(InnerCalls).attributes = attributes
        if not plain:
            parent.part(EndDetails).needs_encoding = True
    return claimed


def _same_target(parent: Record, attributes: Attributes) -> bool:
    """Whether a call is for the tool, or may be for the model, that the gates of ``parent`` were asked about."""
    if parent.kind == "tool.execute":
        return attributes.get(semconv.GEN_AI_TOOL_NAME) in (parent.name, parent.inner.passed_as or parent.name)
    return same_model(attributes.get(semconv.GEN_AI_REQUEST_MODEL), parent.model)


def serves(parent: Record, op: Record) -> bool:
    """Whether ``op`` serves, in the same process, the very call that ``parent`` makes."""
    if parent.kind != op.kind or parent.adapter.nesting.carries is None or not _open(parent):
        return False
    if not _same_target(parent, op.attributes):
        return False
    own = gated_by(parent)
    return all(one in own for one in carried_by(op.adapter, op.instance, op.args, op.kwargs))


def absorbed_span(parent: Record, kind: str, scope: str, attributes: Attributes) -> bool:
    """Whether another instrumentation's span, opened directly inside ``parent``, is for the same call.

    Spans hold no content, so operation, model and provider identify the request: once for each scope and prompt.
    """
    if parent.kind != kind or kind == "agent.invoke" or not _open(parent):
        return False
    if kind in ("llm.call", "embeddings.create"):
        if not same_provider(attributes.get(semconv.GEN_AI_PROVIDER_NAME), parent.provider):
            return False
        is_known = bool(parent.model) or not parent.foreign
        if is_known and not same_model(attributes.get(semconv.GEN_AI_REQUEST_MODEL), parent.model):
            return False
    elif attributes.get(parent.adapter.target_key) != parent.name:
        return False
    spans = parent.inner.spans
    if spans is None:  # setdefault is atomic
        spans = parent.part(InnerCalls).__dict__.setdefault("spans", {})
    if scope not in spans:
        spans[scope] = len(gated_by(parent)) or 1
    if not spans[scope]:
        return False
    spans[scope] -= 1
    return True


def span_ended(parent: Record, scope: str, used: Usage | None, *, failed: bool) -> None:
    """An absorbed span has ended: ``parent`` takes its usage; after a failure, another span may follow."""
    if failed:
        assert parent.inner.spans is not None
        parent.inner.spans[scope] += 1
    else:
        parent.part(InnerCalls).transported = True
    if used is None:
        return
    told = parent.inner.span_usage
    if told is None:
        told = parent.part(InnerCalls).__dict__.setdefault("span_usage", {})
    if scope in told:
        told[scope].add(used)
    else:
        told[scope] = used


def _open(parent: Record) -> bool:
    return parent.called and not parent.ended and calling_back.get() is not parent


def _claimed(parent: Record, adapter: Adapter, instance: Any, carried: Carried) -> Absorbed | None:
    """Take what the call carries from what ``parent`` still expects to be carried: all of it or nothing."""
    layers = parent.inner.carried
    if layers is None:  # setdefault is atomic: the prompts of a batch may go out in parallel
        layers = parent.part(InnerCalls).__dict__.setdefault("carried", {})
    left = layers.get(adapter.layer)
    if left is None:
        own = gated_by(parent)
        left = layers.setdefault(adapter.layer, list(own))
    if not carried:  # in unreadable pieces, such as tokens: accepted from one client
        client = parent.part(InnerCalls).__dict__.setdefault("carrier", instance)
        return Absorbed(parent, adapter, instance, carried, taken=False) if client is instance else None
    taken: Carried = []
    for one in carried:
        try:
            left.remove(one)
        except ValueError:
            left.extend(taken)
            return None
        taken.append(one)
    return Absorbed(parent, adapter, instance, carried, taken=True)
