"""Which calls are only the transport of the operation around them, and so none of their own.

A framework's model goes on in a provider's client: one call, gated and counted once. That such a call has the kind and
the model of the operation around it is not enough, since callbacks and a model's own code make other calls there. It
must carry the request that was gated, which is known by the last text of each prompt; what carries another is gated.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from spanhook import semconv
from spanhook.current import current
from spanhook.errors import internal
from spanhook.record import Record
from spanhook.shape import Args, Attributes, Kwargs, Shape
from spanhook.usage import Usage

Carried = list[str | None]
"""What a request carries: the last text of each prompt, or ``None`` where there is none, as of an image alone."""

_calling_back: ContextVar[Record | None] = ContextVar("spanhook.calling_back", default=None)
"""The operation whose framework runs the application's callbacks; what they call is never its transport."""


class Absorbed:
    """A call that is the transport of the operation around it, entered while it is made.

    One that fails gives back what it was to carry, since what retries it belongs to the same attempt.
    """

    __slots__ = ("_layer", "_taken", "op", "shape")

    def __init__(self, op: Record, shape: Shape, layer: str, taken: Carried) -> None:
        self.op, self.shape = op, shape
        self._layer, self._taken = layer, taken

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            self.failed()
        elif not self.shape.model_layer:
            self.op.transported = True

    def failed(self) -> None:
        """The call has failed, or its stream has: another may be made for it."""
        taken, self._taken = self._taken, []
        if self.op.carried is not None:
            self.op.carried[self._layer].extend(taken)

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
) -> Absorbed | None:
    """The call as the transport of ``parent``, directly inside of which it is about to be made, if it is that."""
    if parent.kind != shape.kind or not _open(parent):
        return None
    if shape.model_layer:
        if parent.shape.layer not in shape.transport_of or parent.instance is not instance:
            return None
    elif not same_model(attributes.get(semconv.GEN_AI_REQUEST_MODEL), parent.model):
        return None
    carried = _carried(shape, instance, args, kwargs)
    if shape.layer == parent.shape.layer:  # one of its methods goes on in another, however deep
        own = _carried(parent.shape, parent.instance, parent.args, parent.kwargs)
        return Absorbed(parent, shape, shape.layer, []) if all(one in own for one in carried) else None
    return _claimed(parent, shape, carried, instance)


def absorbed_span(parent: Record, kind: str, scope: str, attributes: Attributes) -> bool:
    """Whether a span that somebody else opens directly inside of ``parent`` is for the same call.

    Spans tell no content, so what is called and whose it is stand in for the request: once for each scope and prompt.
    """
    if parent.kind != kind or kind == "agent.invoke" or not _open(parent):
        return False
    if kind in ("llm.call", "embeddings.create"):
        if not _same_provider(attributes.get(semconv.GEN_AI_PROVIDER_NAME), parent.provider):
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
        spans[scope] = len(_carried(parent.shape, parent.instance, parent.args, parent.kwargs)) or 1
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


def _claimed(parent: Record, shape: Shape, carried: Carried, instance: Any) -> Absorbed | None:
    """Take what the call carries from what ``parent`` has yet to be carried, all of it or nothing."""
    layers = parent.carried
    if layers is None:  # setdefault is atomic: the prompts of a batch may go out in parallel
        layers = parent.__dict__.setdefault("carried", {})
    left = layers.get(shape.layer)
    if left is None:
        left = layers.setdefault(shape.layer, list(_carried(parent.shape, parent.instance, parent.args, parent.kwargs)))
    if not carried:  # in pieces that nobody can read, such as tokens: those of one client
        client = parent.__dict__.setdefault("carrier", instance)
        return Absorbed(parent, shape, shape.layer, []) if client is instance else None
    taken: Carried = []
    for one in carried:
        try:
            left.remove(one)
        except ValueError:
            left.extend(taken)
            return None
        taken.append(one)
    return Absorbed(parent, shape, shape.layer, taken)


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


def same_model(asked: Any, gated: str) -> bool:
    """Whether two names are of the same model, as providers, routers and responses write them."""
    if not asked or asked == gated:
        return True
    return isinstance(asked, str) and normalized(asked) == normalized(gated)


#: Providers in the conventions' terms. Frameworks have names of their own for others, such as that of a class.
_PROVIDERS = frozenset(
    (
        "anthropic", "aws.bedrock", "azure.ai.inference", "azure.ai.openai", "cohere", "deepseek", "gcp.gemini",
        "gcp.gen_ai", "gcp.vertex_ai", "groq", "ibm.watsonx.ai", "mistral_ai", "openai", "perplexity", "x_ai",
    )
)  # fmt: skip


def _same_provider(asked: Any, gated: str) -> bool:
    if asked == gated or asked not in _PROVIDERS or gated not in _PROVIDERS:
        return True
    return not set(asked.split(".")).isdisjoint(gated.split("."))


_DATE = re.compile(
    r"""(?: [-@:] (?: latest
            | 20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])  # a day
            | 2[3-9](?:0[1-9]|1[0-2])                              # a month, as Mistral writes it
            | (?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]) )           # a day, as OpenAI wrote it
          (?:-v\d+)? )$""",
    re.VERBOSE,
)


@lru_cache(maxsize=1024)
def normalized(model: str) -> str:
    """A model's name without what stands for where it is (``openai/``, ``models/``) and from when (a date)."""
    return _DATE.sub("", model.casefold().rpartition("/")[2])


# ------------------------------------------------------------------------------------------------- callbacks


def called_back(wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Run a function of a framework that calls the application's callbacks: the handlers, its first argument."""
    op = current.get()
    if type(op) is not Record or not (args and args[0]):
        return wrapped(*args, **kwargs)
    before = _calling_back.get()
    _calling_back.set(op)
    try:
        return wrapped(*args, **kwargs)
    finally:
        _calling_back.set(before)


def acalled_back(wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Awaitable[Any]:
    """``called_back`` for a coroutine function."""
    op = current.get()
    if type(op) is not Record or not (args and args[0]):
        return wrapped(*args, **kwargs)
    return _awaited(wrapped(*args, **kwargs), op)


async def _awaited(callbacks: Awaitable[Any], op: Record) -> Any:
    before = _calling_back.get()
    _calling_back.set(op)
    try:
        return await callbacks
    finally:
        _calling_back.set(before)
