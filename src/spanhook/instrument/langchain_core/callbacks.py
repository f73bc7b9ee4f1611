"""LangChain's callback events about a call: held until hooks have decided about the call, then sent accordingly.

All events go through two LangChain functions, whatever the manager, and carry the id of their run. A run belongs to the
operation that is current when it starts. End events wait for every hook that sees results; tokens and other events that
may reveal parts of a result wait for hooks that hold results back.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from langchain_core.callbacks import manager
from langchain_core.outputs import LLMResult
from langchain_core.runnables import config  # look up its functions later: it may be importing this module

from spanhook import semconv
from spanhook.engine import registry
from spanhook.gating import Plan
from spanhook.instrument.langchain_core.retelling import Telling, message_id, retold
from spanhook.instrument.langchain_core.wanted import keep
from spanhook.model import Deferred, HookDecisions, Record, current

_STARTS = {
    "on_chat_model_start": "llm.call",
    "on_llm_start": "llm.call",
    "on_tool_start": "tool.execute",
    "on_retriever_start": "retrieval.query",
}
_PARTS = frozenset(("on_llm_new_token", "on_stream_event", "on_text", "on_custom_event"))
_ENDS = frozenset(("on_llm_end", "on_tool_end", "on_retriever_end"))
_ERRORS = {
    "llm.call": ("on_llm_error", "ignore_llm"),
    "tool.execute": ("on_tool_error", "ignore_agent"),
    "retrieval.query": ("on_retriever_error", "ignore_retriever"),
}
_FAILURES = frozenset(name for name, _ in _ERRORS.values())
_KEPT = _PARTS | _ENDS | _FAILURES

_LATE = 1000
"""Refused runs, remembered so that their late parts are not sent."""


class Told(NamedTuple):
    """One pending event.

    Attributes:
        run: The id of its run; ``None`` if it does not go to callbacks.
        event: The event's name.
        tell: Sends it; ``is_async`` says whether the return value must be awaited.
        args, kwargs: The arguments of ``tell``.
    """

    run: Any
    event: str
    tell: Callable[..., Any]
    is_async: bool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def now(self, awaits: bool) -> Any:
        """Send it, as LangChain would have."""
        if self.run is None:
            self.tell(*self.args, **self.kwargs)
            return None
        if not awaits:
            (manager.handle_event if self.is_async else self.tell)(*self.args, **self.kwargs)
            return None
        if not self.is_async:  # sent from a thread, where handlers may block
            return config.run_in_executor(None, self.tell, *self.args, **self.kwargs)
        telling = self.tell(*self.args, **self.kwargs)
        return telling if self.event in _PARTS else asyncio.shield(asyncio.ensure_future(telling))

    def other(self, telling: Telling) -> "Told":
        """Another event, sent instead in the same way."""
        event, ignore, args, kwargs = telling
        about = {key: self.kwargs[key] for key in ("run_id", "parent_run_id", "tags") if key in self.kwargs}
        return self._replace(event=event, args=(self.args[0], event, ignore, *args), kwargs={**about, **kwargs})


class Callbacks:
    """The events held for the runs of one operation.

    Args:
        op: The operation.
        parts: Whether to hold parts of results too.
        windows: Whether to hold them unless hooks see their text before they are sent.
    """

    def __init__(self, op: Record, *, parts: bool, windows: bool) -> None:
        self._parts, self._windows = parts, windows
        self._op: Record | None = op
        self._runs: list[Any] = []
        self._queue: deque[Told] = deque()
        self._released = self._changed = False
        keep(self)

    @property
    def parts(self) -> bool:
        """Whether parts of results are held too."""
        return self._parts or (self._windows and (self._op is None or self._op.stream.windowed is None))

    @property
    def waiting(self) -> bool:
        """Whether hooks still have to decide."""
        return not self._released

    def add(self, run: Any) -> None:
        """Hold the events of a run from now on."""
        if run not in self._runs:
            self._runs.append(run)
            _keeping[run] = self

    def keeps(self, told: Told) -> bool:
        """Whether to hold an event now."""
        is_part = told.event in _PARTS
        if is_part and not self.parts:
            return False
        if self._released:
            return is_part and self._changed
        self._queue.append(told)
        return True

    def out(self) -> Iterator[Callable[[bool], Any]]:
        op, queue = self._op, self._queue
        self._released = True
        if op is None:
            return
        reworded = op.stream.reworded and op.stream.windowed is None  # what is held here was not shown to hooks before
        self._changed = op.error is not None or op.decided.replaced or reworded
        if self._changed:
            _late.append(self)
        if op.error is not None:
            yield from self._failed(op)
        elif op.decided.replaced or reworded:
            yield from self._replaced(op)
        while queue:
            yield queue.popleft().now
        self._op = None

    def _failed(self, op: Record) -> Iterator[Callable[[bool], Any]]:
        """Parts are dropped: no hook has allowed them. End events become errors, unless the call itself failed."""
        queue, (event, ignore) = self._queue, _ERRORS[op.kind]
        itself = not op.decided.refused and any(told.event in _FAILURES for told in queue)
        while queue:
            told = queue.popleft()
            if told.event in _PARTS:
                continue
            if itself and (told.event in _FAILURES or not self.parts):
                yield (self._unsaid(told) if self.parts else told).now
                continue
            kwargs: dict[str, Any] = {}
            if op.kind == "llm.call":
                kwargs["response"] = LLMResult(generations=[])
            elif op.kind == "tool.execute":
                kwargs["tool_call_id"] = op.attributes.get(semconv.GEN_AI_TOOL_CALL_ID)
            yield told.other((event, ignore, (op.error,), kwargs)).now

    @staticmethod
    def _unsaid(told: Told) -> Told:
        """An error without the partial answer."""
        if "response" not in told.kwargs:
            return told
        return told._replace(kwargs={**told.kwargs, "response": LLMResult(generations=[])})

    def _replaced(self, op: Record) -> Iterator[Callable[[bool], Any]]:
        """Every run gets the decided result, in the form of its original events; ids stay the same."""
        queue = list(self._queue)
        self._queue.clear()
        if op.stream.streamed:
            op.part(HookDecisions).answer = op.result  # chunks are created from messages with ids
        for index, run in enumerate(self._runs):
            mine = [told for told in queue if told.run == run]
            if not mine:
                continue
            events = {told.event: told for told in mine}
            for telling in retold(op, index, events.keys(), message_id(run, mine)):
                yield events.get(telling[0], mine[-1]).other(telling).now


_keeping: "WeakValueDictionary[Any, Callbacks]" = WeakValueDictionary()
"""By the id of a run."""
_late: deque[Callbacks] = deque(maxlen=_LATE)


# ----------------------------------------------------------------------------------------------- what is held


def hold(tell: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``handle_event`` must hold an event now."""
    return _holds(tell, args, kwargs, is_async=False)


def ahold(tell: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``ahandle_event`` must hold an event now."""
    return _holds(tell, args, kwargs, is_async=True)


def _holds(tell: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, is_async: bool) -> bool:
    if len(args) < 2:
        return False
    event = args[1]
    if event in _KEPT:
        run = kwargs.get("run_id")
        keeper = _keeping.get(run)
        return keeper is not None and keeper.keeps(Told(run, event, tell, is_async, args, kwargs))
    kind = _STARTS.get(event)
    if kind is not None:
        op = current.get()
        if type(op) is Record and op.kind == kind and (keeper := keeper_of(op)) is not None:
            keeper.add(kwargs.get("run_id"))
    return False


def keeper_of(op: Record) -> Callbacks | None:
    """The holder of a running operation's callback events, if hooks will see its result."""
    plan: Plan | None = op.plan
    if plan is None or not op.called or op.returned_ns or not op.adapter.layer.startswith("langchain"):
        return None
    for way in op.deferred.outputs:
        if isinstance(way, Callbacks):
            return way
    parts = any(bound.concerns(op) for bound in plan.buffers)
    windows = any(bound.concerns(op) for bound in plan.windows)
    if op.stream.streamed and not (parts or windows):
        return None  # it is passed on as it arrives, so it is too late to decide
    follows = op.adapter.follows is not None and "agent.delegate" in registry.plans
    if not (parts or windows or follows or any(bound.concerns(op) for bound in plan.results)):
        return None
    keeper = Callbacks(op, parts=parts, windows=windows)
    op.part(Deferred).outputs += (keeper,)
    return keeper


# ----------------------------------------------------------------------------------------------- parts sent elsewhere


def hold_delta(tell: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether to hold back a part of a tool's output now."""
    op = current.get()
    op = op if type(op) is Record else None
    while op is not None and op.kind != "tool.execute":
        op = op.parent
    keeper = None if op is None else keeper_of(op)
    return keeper is not None and keeper.keeps(Told(None, "on_text", tell, False, args, kwargs))
