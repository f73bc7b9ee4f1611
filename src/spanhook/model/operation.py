"""What a hook sees: one unit of agent work, from its request to its outcome.

Each run of a hook gets its own view. What it reads is copied, and its changes stay in the view until the engine
applies them, so a hook that has failed, timed out or returned changes nothing.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from spanhook.errors import HookError, SealedError
from spanhook.model._kinds import REPLACEABLE
from spanhook.model._rewriting import Rewritten, rewritten
from spanhook.model._view import View
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.encoding import exact_text
from spanhook.model.record import Record
from spanhook.model.record_parts import Shared
from spanhook.model.request import Change, Message

RETURNED = "the hook has returned; a hook changes its operation only while it runs"
TIMED_OUT = "the hook has timed out; the operation continues without it"
CALLING = "the call is being made; change it before, or its result afterwards"
READING = "this view is read-only; a hook may change only its own operation"
FILTERING = "a filter only reads; use @hooks.before or @hooks.after"
STREAMING = "a filter of streamed text only returns what may go out"
WATCHING = "a subscription only watches; use @hooks.before or @hooks.after"


class Operation(View):
    """One unit of agent work with a start and an end: one span, and the object that hooks decide about.

    What you read from it are copies: changing them in place has no effect; use ``replace`` and ``respond``. Plain data,
    messages and results are copied; other application objects are passed as they are.
    """

    __slots__ = ("_answered", "_changed", "_locked")

    _rewritten: Rewritten | None = None
    _answer: Any = None
    _reason: str = ""
    _refusal: Callable[[], Exception | None] | None = None
    """The refusal that the hook has decided on but not raised yet, if there is one."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._locked = ""  # why changes are not allowed; empty while the hook runs
        self._changed = False  # the hook has asked for a change
        self._answered = False

    # ----------------------------------------------------------------- what is around it

    @property
    def parent(self) -> "Operation | None":
        """The enclosing operation, read-only; ``None`` for the outermost."""
        around = self._record.parent
        return None if around is None else view_of(around)

    @property
    def root(self) -> "Operation":
        """The outermost operation around this one, or itself; read-only."""
        op = self
        while (parent := op.parent) is not None:
            op = parent
        return op

    # ----------------------------------------------------------------- what hooks share

    @property
    def state(self) -> dict[str, Any]:
        """A dict shared by the hooks of this operation, which may change it while they run."""
        if not self._locked or self._locked is STREAMING:
            state = self._record.shared.state
            if state is None:
                state = self._record.part(Shared).state = {}
            return state
        if self._locked is TIMED_OUT:
            raise SealedError(f"op.state was accessed, but {self._locked}")
        return MappingProxyType(self._record.shared.state or {})  # pyright: ignore[reportReturnType]

    @property
    def run_state(self) -> dict[str, Any]:
        """A dict shared by the hooks of all operations of one run, kept as long as the run; see ``root``.

        Hooks of parallel operations use it at the same time, and so do hooks in shadow mode: take keys of your own, and
        ``setdefault`` to create what is in it.
        """
        if self._locked and self._locked is not STREAMING:
            return MappingProxyType(self._record.root.__dict__.get("run_state") or {})  # pyright: ignore[reportReturnType]
        return self._record.root.__dict__.setdefault("run_state", {})

    # ----------------------------------------------------------------- what a hook may do

    def replace(
        self,
        *,
        messages: Sequence[Message] | Sequence[Sequence[Message]] | None = None,
        system: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        inputs: Any = None,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        reason: str = "",
    ) -> None:
        """Rewrite the request before the call is made. Gates that ran before this hook run once more.

        Args:
            messages: Chat messages in role/parts form (a list of such lists for a batch of prompts).
            system: System instructions.
            arguments: A tool's arguments; arguments missing from the mapping are dropped.
            inputs: The input of an agent, step or store.
            model: Another model of the same provider.
            headers: All headers of an HTTP request; those missing from the mapping are dropped.
            body: The body of an HTTP request.
            reason: What the decision says; by default the names of the rewritten fields. It is recorded: no content.

        Raises:
            HookError: The call was already made, this kind of operation or this field of it cannot be rewritten, the
                hook only watches, the messages are no list, or the rewritten call does not say what was asked for.
            SealedError: The hook has returned or timed out, or this is not the operation that it was called for.
        """
        self._check_open("op.replace()")
        if self.phase != "pre":
            raise HookError(
                f"op.replace() was called in {self.event!r}; a request can only be rewritten before the call"
            )
        if isinstance(messages, str | Mapping):
            raise HookError(f"op.replace(messages=) takes a list of messages, not one {type(messages).__name__}")
        record, before = self._record, self._rewritten
        model = None if model is None else exact_text(model)
        if headers is not None or body is not None:
            if self.kind != "request":
                raise HookError("op.replace() was given headers= or body=; only requests to a server have them")
            inputs = _http(self.request.inputs if inputs is None else inputs, headers, body)
        change = Change(messages=messages, system=system, arguments=arguments, inputs=inputs, model=model)
        args, kwargs = rewritten(record.adapter, record.instance, *self._call(), change)
        fields = change.fields() if before is None else (*before.fields, *change.fields())
        self._rewritten = Rewritten(args, kwargs, fields, model or self.model)
        self._request, self._changed, self._reason = None, True, reason

    def respond(self, value: Any, *, reason: str = "") -> None:
        """Answer instead of the call (in a ``before`` hook), or replace its result (in an ``after`` hook).

        The value may be of the library's own result type or plain: text for a model or tool, documents for a retriever.
        Answering skips the call, but never the gates that follow.

        Args:
            value: The answer.
            reason: What the decision says, instead of that the result was replaced. It is recorded: no content.

        Raises:
            HookError: Results of this kind are read-only after the call, the call has failed, or the hook only
                watches.
            SealedError: The hook has returned or timed out, or this is not the operation that it was called for.
        """
        self._check_open("op.respond()")
        if self.phase == "error":
            raise HookError(
                f"op.respond() was called in {self.event!r}; to answer a call that failed, use an around hook"
            )
        if self.phase != "pre" and self.kind not in REPLACEABLE:
            raise HookError(
                f"op.respond() was called in {self.event!r}, whose result is read-only; "
                f"results of {', '.join(sorted(REPLACEABLE))} can be replaced"
            )
        self._answer, self._answered, self._changed, self._reason = value, True, True, reason

    def refresh(self) -> None:
        """Read the request anew: the application may have changed it since."""
        self._request = None

    def _check_open(self, what: str) -> None:
        locked = self._locked
        if not locked:
            return
        if locked in (WATCHING, FILTERING, STREAMING):
            raise HookError(f"{what} was called, but {locked}")
        raise SealedError(f"{what} was called on {self!r}, but {locked}")

    @property
    def model(self) -> str:
        return self._record.model if self._rewritten is None else self._rewritten.model

    # ----------------------------------------------------------------- for the engine

    def _call(self) -> tuple[Args, Kwargs]:
        """The call with this hook's changes."""
        asked = self._rewritten
        return super()._call() if asked is None else (asked.args, asked.kwargs)

    def _take(self) -> tuple[Rewritten | None, bool, Any]:
        """The hook's changes since the last time: a rewritten call; whether it answered, and with what."""
        taken = self._rewritten, self._answered, self._answer
        self._rewritten, self._answered, self._answer, self._changed = None, False, None, False
        return taken


def _http(inputs: Any, headers: Mapping[str, str] | None, body: bytes | None) -> dict[str, Any]:
    """The input of an HTTP request with other headers, or another body."""
    if not isinstance(inputs, Mapping):
        raise HookError(f"op.replace(inputs=...) takes a mapping, not {type(inputs).__name__}")
    named = None if headers is None else {exact_text(name).lower(): value for name, value in headers.items()}
    asked = {"headers": named, "body": body}
    given = cast("Mapping[str, Any]", inputs)
    return {**given, **{name: value for name, value in asked.items() if value is not None}}


def view_of(record: Record) -> Operation:
    """The shared read-only view of an operation."""
    known = record.shared.view
    view = None if known is None else known()
    if view is None:
        view = Operation(record)
        view._locked = READING
        record.part(Shared).view = weakref.ref(view)
    return view
