"""The base class of hooks: ``Hook``.

A ``Hook`` *is* a ``SpanProcessor``: it may be given to ``spanhook.instrument`` or to a provider's
``add_span_processor``. It does not know how chains run.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, Literal, TypedDict, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from spanhook.errors import Reject
from spanhook.gating.text_filters import TextFilter, Windowed
from spanhook.model import HookMode, Operation

FailMode = Literal["open", "closed"]
StreamMode = Literal["buffer", "window", "observe"]
Seconds = float

UNSET: Any = object()
"""A timeout that was not given; ``None`` means "no limit"."""


def once(value: Any) -> Any:
    """The items of an iterator, which can be read only once; anything else unchanged."""
    return tuple(cast("Iterator[Any]", value)) if isinstance(value, Iterator) else value


class Bridge:
    """How spans of other instrumentations reach hooks; set by ``spanhook.engine``."""

    start: Callable[["Hook", Span, Context | None], None] | None = None
    end: Callable[[ReadableSpan], None] | None = None


bridge = Bridge()


class Hook(SpanProcessor):
    """Base class of hooks. Override any of ``before``, ``after``, ``on_error`` and ``around``.

    Each may be ``def`` or ``async def`` and serves sync and async operations alike. ``around`` is a generator
    function with one ``yield``, or ``async def around(self, op, call_next)``.

    Class attributes, or arguments of the decorators on ``Hooks``:

    Attributes:
        kinds: The kinds of operation that it runs for, such as ``("tool.execute",)``; ``("*",)`` for all.
        name: Its name in decisions and metrics; by default that of the class or function.
        priority: 0-1000, low first. Unset: 75 for ``before`` and ``around``, 500 for ``after`` and ``on_error``.
        timeout: Seconds of its own time per call; ``None`` for no limit. Unset: 0.2 (10 for kind ``run``).
        fail_mode: What happens if it fails: ``"closed"`` rejects, ``"open"`` continues. Unset: closed below
            priority 100, otherwise open.
        blocking: Run it in a worker thread, where a timeout can be enforced on blocking code.
        stream: ``"buffer"`` holds streams back until its ``after`` or ``around`` has seen the whole result,
            ``"window"`` shows ``text`` the text of streams as it arrives, ``"observe"`` lets them go. Unset:
            ``"buffer"`` for an ``after`` that fails closed by its own setting or priority, otherwise ``"observe"``.
        window: With ``stream="window"``, how many characters are held back: as many as the longest text that ``text``
            must see in one piece.
        names, models, agents: Only operations with one of these tool/agent/model names, models, agents.
        tenant_id: Only operations of this tenant; empty for all.
        when: Only operations for which this returns true.
        body: It reads the bodies of requests to a server, which are then read before it runs, up to a limit.
        outermost: Only operations that are not inside another, unless that is a request to a server: whole runs, of any
            kind; requests are none.
        limits_usage: It limits what calls use, so streams are asked for their usage; see ``Settings.stream_usage``.
        mode: ``"enforce"``, or ``"shadow"``: it runs beside the call, and what it would have done is recorded and
            counted, but not done.
    """

    kinds: Iterable[str] = ("*",)
    name: str = ""
    priority: int | None = None
    timeout: Seconds | None = UNSET
    fail_mode: FailMode | None = None
    blocking: bool = False
    stream: StreamMode | None = None
    window: int = 0
    names: Iterable[str] | None = None
    models: Iterable[str] | None = None
    agents: Iterable[str] | None = None
    tenant_id: str = ""
    when: Callable[[Operation], bool] | None = None
    body: bool = False
    outermost: bool = False
    limits_usage: bool = False
    mode: HookMode = "enforce"
    _together: bool = False
    """Whether its ``after`` may run at the same time as that of other such hooks."""
    _listeners: tuple[Any, ...] = ()
    """Called with each hook's result on operations of its kinds; see ``gating.log``."""

    _acts_once = False
    """Whether its ``before`` asks somebody or counts something. It then runs at the last look at a call: the one at
    what its body receives, where a framework hands that over, otherwise the first one.
    """

    _not_replayed = ""
    """Why ``spanhook replay`` does not run it, if it does not: what it does would be seen outside of the process."""

    def _before_replay(self, unknown: Callable[[str], object]) -> None:
        """Prepare for a replay. ``unknown`` raises; it is called with what a decision needs that is not recorded."""

    def _remarks(self) -> Iterator[str]:
        """What whoever configured it should know of how it works in this process; shown by pages and ``doctor``."""
        yield from ()

    _budgeted = True
    _last = False
    """Whether its time counts towards the chain's budget; such hooks are skipped once that budget is spent."""

    _made_with: Any = None
    """The validated settings of a ready-made hook that was made from some."""

    _described = "hook"
    """What it is called in messages about configuration."""

    _compared = True
    """Whether it is reported if a change takes it away; not if it is only there for the time being."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep what iterators give: every instance of the class reads its settings."""
        super().__init_subclass__(**kwargs)
        for label in ("kinds", "names", "models", "agents"):
            if isinstance(vars(cls).get(label), Iterator):
                setattr(cls, label, once(vars(cls)[label]))

    def before(self, op: Operation) -> Any:
        """Runs before the call.

        Raises:
            Reject: To refuse the operation. Any other exception is a failure of the hook; see ``fail_mode``.
        """

    def after(self, op: Operation) -> Any:
        """Runs after a call that was not refused and did not fail.

        Raises:
            Reject: To withhold the result. Any other exception is logged and recorded.
        """

    def on_error(self, op: Operation) -> Any:
        """Runs after a call that failed, was refused or cancelled. Its exceptions are logged and recorded."""

    def around(self, op: Operation, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - types allow both forms so
        """Runs around the call; the code before its one ``yield`` runs before the call.

        Raises:
            Reject: To refuse the operation, or, after the ``yield``, to withhold its result.
        """
        return cast("object", (yield))

    def text(self, op: Operation, text: str) -> str:  # noqa: ARG002
        """With ``stream="window"``: the text as it may go out.

        It is called as a stream arrives, with the text that has not gone out yet, separately for each message, each
        channel of it such as reasoning, and each tool call's arguments. It is a plain function of ``text``, since it
        is called with the same text several times.

        Raises:
            Reject: To end the stream. What is held back never goes out.
        """
        return text

    def text_filter(self, op: Operation) -> TextFilter:
        """With ``stream="window"``: the filter of one text of a stream, for hooks that need more than ``text``."""
        return Windowed(partial(self.text, op), self.window)

    def conceal(self, text: str) -> str:
        """What is recorded in place of a text: content, a message of an exception, or the reason of a decision.

        It is called for all operations (of ``tenant_id``, if set) whatever the other filters say, where such text is
        recorded at all, and not while the hook is in shadow mode. If it raises, nothing of the text is recorded.
        """
        return text

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        """What the operation raises if this hook fails closed with ``error``; a ``Reject`` refuses the operation.

        By default a refusal that names only the class of ``error``: its text may reveal too much.
        """
        reject = Reject(reason, status_code=status_code)
        reject.__cause__ = error
        return reject

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span of another instrumentation reaches ``before`` and ``around``; one of spanhook's own is ignored.

        Raises:
            Reject: The hook refused what the span stands for.
        """
        if bridge.start is not None:
            bridge.start(self, span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """A span of another instrumentation reaches ``after`` and ``on_error``."""
        if bridge.end is not None:
            bridge.end(span)

    def shutdown(self) -> None:
        """Do nothing: a provider that shuts down must not turn gating off."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002
        """Do nothing; there is nothing to flush."""
        return True


class HookSettings(TypedDict, total=False):
    """Settings that the decorators on ``Hooks`` take besides the kinds; each is a class attribute of ``Hook``."""

    name: str
    priority: int | None
    timeout: Seconds | None
    fail_mode: FailMode | None
    blocking: bool
    stream: StreamMode | None
    names: Iterable[str] | None
    models: Iterable[str] | None
    agents: Iterable[str] | None
    tenant_id: str
    when: Callable[[Operation], bool] | None
    body: bool
    outermost: bool
    mode: HookMode


class FunctionHook(Hook):
    """The hook that a decorator or a subscription creates from a function."""

    def __init__(self, form: str, function: Callable[..., Any], kinds: Collection[str], settings: HookSettings):
        self.form, self.function, self.kinds = form, function, kinds
        for setting, value in settings.items():
            setattr(self, setting, value)
        if self.name == "":  # an empty set is a mistake that is refused
            self.name = getattr(function, "__name__", "") or type(function).__name__
