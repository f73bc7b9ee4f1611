"""How calls are changed, answered and refused: the parts of an adapter for what hooks decide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spanhook.errors import Reject
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.request import Change

Coerced = Literal["exact", "twice"]
"""How gates see what a framework makes of a tool's arguments: where the body receives it, or by having them validated
once more than the framework does.
"""


def unchanged_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """An answer that is passed on as the hook gave it."""
    return value


def same_name(model: str) -> str:
    """A model's name that is read as it is written."""
    return model


@dataclass(frozen=True, kw_only=True)
class Editing:
    """How a call is changed before it is made, and its outcome as hooks decide.

    Attributes:
        rewrite: New ``(args, kwargs)`` for a ``Change``; ``None`` if the library's call cannot be rewritten. Messages
            are as the hook gave them: with ``parts``, or in the library's own form. What was asked for must be in the
            request of the new call.
        takes: The fields of a ``Change`` that ``rewrite`` supports; it is never given others.
        bare_model: How a request reads that a hook gave another model, if the name says more than the model.
        answer: What the function returns, once awaited, for a value that a hook answered with: a stream if this call
            returns one, asynchronous if the call's is. For a generator function, the whole result; see
            ``Streaming.answer_chunks``.
        amend: ``answer`` for a value that replaces a result, if it depends on that result, its first argument.
        announce: Makes a call that a hook answered by the library's own code, with the answer in place of what its body
            does, so that the library tells its listeners, such as callbacks, of it. Given the call, its result and
            whether it is async, it returns what such a call returns: the result, an awaitable or a stream; ``None`` if
            nobody can be told.
        rejected: The library's own error *result* for a rejection, or an awaitable of it, or its own exception, which
            is raised; ``None`` to have the rejection raised.
        native_error: The library's own exception for a rejection; what is raised is that exception and the ``Reject``
            in one. ``None`` if it has none.
        refusal: The rejection of which the library has made an exception of its own; as with ``native_error``, what is
            raised is both.
        prepare: Makes spanhook's own last changes to a call, such as requesting a stream's usage.
        repeat: The call to make in place of one that has failed because of what ``prepare`` changed, and what to call
            if that succeeds; ``None`` if it has failed for another reason.
        onward: Puts the trace context, as text, into a request that leaves the process, or that the library reads it
            from.
    """

    rewrite: Callable[[Any, Args, Kwargs, Change], tuple[Args, Kwargs]] | None = None
    takes: frozenset[str] = frozenset()
    bare_model: Callable[[str], str] = same_name
    answer: Callable[[Any, Args, Kwargs, Any], Any] = unchanged_answer
    amend: Callable[[Any, Any, Args, Kwargs, Any], Any] | None = None
    announce: Callable[[Any, Args, Kwargs, Any, bool], Any] | None = None
    rejected: Callable[[Any, Args, Kwargs, str], Any] | None = None
    native_error: Callable[[Any, Args, Kwargs, Reject], BaseException | None] | None = None
    refusal: Callable[[BaseException], Reject | None] | None = None
    prepare: Callable[[Any, Args, Kwargs], tuple[Args, Kwargs]] | None = None
    repeat: Callable[[Any, Args, Kwargs, BaseException], tuple[Args, Kwargs, Callable[[], object]] | None] | None = None
    onward: Callable[[Any, Args, Kwargs, Mapping[str, str]], tuple[Args, Kwargs]] | None = None


AS_GIVEN = Editing()
"""For calls that cannot be changed, and pass answers on as hooks gave them."""


@dataclass(frozen=True, kw_only=True)
class Receiving:
    """How hooks see what a framework makes of a tool's arguments, for calls whose body is a ``Receiver``.

    Attributes:
        coerced: How they see it.
        later: Whether the call is sure to reach its body through a ``Receiver``, so that hooks which act once may wait
            for that; ``None`` if it never is.
        shown: What hooks were shown of the arguments, copied just before the call is made; ``None`` if that is what
            ``request`` reads.
        received: The call with the arguments that its body receives; ``None`` if ``rewrite`` makes it.
    """

    coerced: Coerced = "exact"
    later: Callable[[Any, Args, Kwargs], bool] | None = None
    shown: Callable[[Any, Args, Kwargs], Any] | None = None
    received: Callable[[Any, Args, Kwargs, Any], tuple[Args, Kwargs]] | None = None
