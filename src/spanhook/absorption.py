"""Which calls are only the transport of the operation around them, and so none of their own.

A framework's model goes on in a provider's client: one call, gated and counted once. That such a call has the kind and
the model of the operation around it is not enough, since callbacks and a model's own code make other calls there. It
must carry the request that was gated, which is known by the last text of each prompt; what carries another is gated.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from spanhook import semconv
from spanhook.current import current
from spanhook.encoding import make_encodable
from spanhook.errors import internal
from spanhook.names import same_model, same_provider
from spanhook.record import Record
from spanhook.shape import Args, Attributes, Kwargs, Shape
from spanhook.usage import Usage

Carried = list[str | None]
"""What a request carries: the last text of each prompt, or ``None`` where there is none, as of an image alone."""

_calling_back: ContextVar[Record | None] = ContextVar("spanhook.calling_back", default=None)
"""The operation whose framework runs the application's callbacks; what they call is never its transport."""


_running: "ContextVar[Absorbed | None]" = ContextVar("spanhook.absorbed", default=None)
"""The absorbed call that is being made."""


class Part:
    """A call that an absorbed one goes on in, such as that of the method which it overrides."""


PART = Part()


class Absorbed:
    """A call that is the transport of the operation around it.

    One that fails gives back what it was to carry, since what retries it belongs to the same attempt.
    """

    __slots__ = ("_taken", "carried", "instance", "op", "shape")
    absorbed: Literal[True] = True

    def __init__(self, op: Record, shape: Shape, instance: Any, carried: Carried, *, taken: bool) -> None:
        self.op, self.shape, self.instance, self.carried = op, shape, instance, carried
        self._taken = taken

    def make(self, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
        """Make the call. What ends it, be it Ctrl-C, leaves nothing behind."""
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
        if not self.shape.model_layer:
            self.op.transported = True

    def goes_on(self, instance: Any, carried: Carried) -> bool:
        """Whether a call on the same client is this one, such as that of a method which is overridden."""
        return self.instance is instance and self.carried == carried

    def failed(self) -> None:
        """The call has failed, or its stream has: another may be made for it."""
        if self._taken and self.op.carried is not None:
            self._taken = False
            self.op.carried[self.shape.layer].extend(self.carried)

    def take(self, result: Any) -> None:
        """Note what the call tells, for the operation around."""
        try:
            attributes, used = self.shape.response(result)
        except Exception as error:
            internal.report("extract.response", error, lost=1)
            return
        self.note(attributes, used)

    def note(self, attributes: Attributes, used: Usage | None) -> None:
        """Let the operation around have what its own result does not tell."""
        op = self.op
        if op.end_attributes is None:
            if not make_encodable(attributes):
                op.odd = True
            op.end_attributes = attributes
        if used is None:
            return
        if self.shape.model_layer:
            op.own_usage = used
        elif op.transport_usage is None:
            op.transport_usage = used
        else:
            op.transport_usage.add(used)


def absorbed(
    parent: Record, shape: Shape, instance: Any, args: Args, kwargs: Kwargs, attributes: Attributes
) -> Absorbed | Part | None:
    """The call as the transport of ``parent``, directly inside of which it is about to be made, if it is that."""
    if parent.kind != shape.kind or not _open(parent):
        return None
    if shape.model_layer:
        if parent.shape.layer not in shape.transport_of or parent.instance is not instance:
            return None
    elif not same_model(attributes.get(semconv.GEN_AI_REQUEST_MODEL), parent.model):
        return None
    carried = _carried(shape, instance, args, kwargs)
    running = _running.get()
    if running is not None and running.op is parent and not shape.model_layer and running.goes_on(instance, carried):
        return PART
    if shape.layer == parent.shape.layer:  # one of its methods goes on in another, however deep
        own = _gated(parent)
        is_same = all(one in own for one in carried)
        return Absorbed(parent, shape, instance, carried, taken=False) if is_same else None
    return _claimed(parent, shape, instance, carried)


def goes_on(op: Record, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call of the same sort on the same instance, made inside of ``op``, is what ``op`` was asked to do."""
    if op.shape.carries is None:
        return True
    own = _gated(op)
    return all(one in own for one in _carried(op.shape, op.instance, args, kwargs))


def absorbed_span(parent: Record, kind: str, scope: str, attributes: Attributes) -> bool:
    """Whether a span that somebody else opens directly inside of ``parent`` is for the same call.

    Spans tell no content, so what is called and whose it is stand in for the request: once for each scope and prompt.
    """
    if parent.kind != kind or kind == "agent.invoke" or not _open(parent):
        return False
    if kind in ("llm.call", "embeddings.create"):
        if not same_provider(attributes.get(semconv.GEN_AI_PROVIDER_NAME), parent.provider):
            return False
        is_known = bool(parent.model) or not parent.foreign
        if is_known and not same_model(attributes.get(semconv.GEN_AI_REQUEST_MODEL), parent.model):
            return False
    elif attributes.get(parent.shape.target_key) != parent.name:
        return False
    spans = parent.spans
    if spans is None:  # setdefault is atomic
        spans = parent.__dict__.setdefault("spans", {})
    if scope not in spans:
        spans[scope] = len(_gated(parent)) or 1
    if not spans[scope]:
        return False
    spans[scope] -= 1
    return True


def span_ended(parent: Record, scope: str, used: Usage | None, *, failed: bool) -> None:
    """An absorbed span has ended: ``parent`` may have its usage, and another one after it has failed."""
    if failed:
        assert parent.spans is not None
        parent.spans[scope] += 1
    else:
        parent.transported = True
    if used is None:
        return
    told = parent.span_usage
    if told is None:
        told = parent.__dict__.setdefault("span_usage", {})
    if scope in told:
        told[scope].add(used)
    else:
        told[scope] = used


def _open(parent: Record) -> bool:
    return parent.called and not parent.ended and _calling_back.get() is not parent


def _carried(shape: Shape, instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """What a request carries; ``[None]``, which is hardly that of another, where it cannot be read."""
    if shape.carries is None:
        return [None]
    try:
        return shape.carries(instance, args, kwargs)
    except Exception as error:
        internal.report("extract.carries", error)
        return [None]


def read(op: Record) -> None:
    """Note what the gates are asked about: callbacks of the application's may change it in place after them."""
    shape, instance = op.shape, op.instance
    if shape.carries is not None and (shape.goes_on is None or shape.goes_on(instance)):
        try:
            op.gated = shape.carries(instance, op.args, op.kwargs)
        except Exception as error:
            internal.report("extract.carries", error)
            op.gated = [None]


def _gated(op: Record) -> Carried:
    return op.gated if op.gated is not None else _carried(op.shape, op.instance, op.args, op.kwargs)


def _claimed(parent: Record, shape: Shape, instance: Any, carried: Carried) -> Absorbed | None:
    """Take what the call carries from what ``parent`` has yet to be carried, all of it or nothing."""
    layers = parent.carried
    if layers is None:  # setdefault is atomic: the prompts of a batch may go out in parallel
        layers = parent.__dict__.setdefault("carried", {})
    left = layers.get(shape.layer)
    if left is None:
        own = _gated(parent)
        left = layers.setdefault(shape.layer, list(own))
    if not carried:  # in pieces that nobody can read, such as tokens: those of one client
        client = parent.__dict__.setdefault("carrier", instance)
        return Absorbed(parent, shape, instance, carried, taken=False) if client is instance else None
    taken: Carried = []
    for one in carried:
        try:
            left.remove(one)
        except ValueError:
            left.extend(taken)
            return None
        taken.append(one)
    return Absorbed(parent, shape, instance, carried, taken=True)


# ------------------------------------------------------------------------------------------------- what is compared


def text_of(content: Any) -> str | None:
    """The text of a message's content, whether that is text or a list of parts; ``None`` where it has none."""
    if isinstance(content, str):
        return content or None
    if not isinstance(content, Sequence):
        return None
    texts: list[str] = []
    for part in content:
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
    return "".join(texts) or None


# ------------------------------------------------------------------------------------------------- callbacks


def called_back(wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Run a function of a framework that calls the application's callbacks: the handlers, its first argument."""
    op = current.get() if args and args[0] else None
    if type(op) is not Record:
        return wrapped(*args, **kwargs)
    before = _calling_back.get()
    try:
        _calling_back.set(op)
        return wrapped(*args, **kwargs)
    finally:
        _calling_back.set(before)


def acalled_back(wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Awaitable[Any]:
    """``called_back`` for a coroutine function."""
    op = current.get() if args and args[0] else None
    if type(op) is not Record:
        return wrapped(*args, **kwargs)
    return _awaited(op, wrapped, args, kwargs)


async def _awaited(op: Record, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    before = _calling_back.get()
    try:
        _calling_back.set(op)
        # Called no sooner: cancelled before its first step, this leaves no coroutine behind that nobody has awaited.
        return await wrapped(*args, **kwargs)
    finally:
        _calling_back.set(before)
