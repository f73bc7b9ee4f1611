"""A stream whose text hooks see before it goes out; the rest of it passes as it is.

It stands in for the library's own iterator, so everything that reads the stream, telemetry included, reads what has
gone out.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, cast

from spanhook.diagnostics import internal
from spanhook.errors import HookError
from spanhook.gating import Bound, Window
from spanhook.model import Channel, ChunkText, Framing, Leaf, Record, Texts


def window_of(op: Record) -> Window | None:
    """The window onto a stream of ``op``; ``None`` if no hook wants one, or one holds the whole stream back."""
    plan = op.plan
    if plan is None or any(bound.concerns(op) for bound in plan.buffers):
        return None
    hooks = [bound for bound in plan.windows if _matches(bound, op)]
    return Window(op, hooks) if hooks else None


def _matches(bound: Bound, op: Record) -> bool:
    try:
        return bound.matches(op)
    except Exception:
        return True  # such hooks fail closed, and `after` reports it


class Flow:
    """Passes chunks on as hooks allow their text, in order.

    Each chunk goes out when it comes, with the text of its channels that may go out by then. What is left of a channel
    that ends goes out before the chunk that ends it.

    Args:
        op: The operation.
        texts: How chunks are read.
        window: What hooks see.
        skips: Whether to pass everything once another such stream, inside of this one, has shown hooks its text.
    """

    def __init__(self, op: Record, texts: Texts, window: Window, *, skips: bool = True) -> None:
        self._op, self._texts, self._window, self._skips = op, texts, window, skips
        self._last: dict[Hashable, tuple[Any, Leaf]] = {}

    def through(self, chunk: Any) -> list[Any]:
        """What goes out now that ``chunk`` has come.

        Raises:
            Reject: A hook refuses its text.
        """
        if self._skips and self._op.stream.windowed is not None:
            return [chunk]
        try:
            said = self._texts.read(chunk)
        except Exception as error:
            self.unreadable(error)
            raise
        window, changed = self._window, dict[Any, str]()
        for leaf in said.grows:
            self._last[leaf.channel] = chunk, leaf
            changed[leaf.route] = window.feed(leaf.channel, leaf.text)
        out = self._ended(said, changed)
        for leaf in said.whole:
            changed[leaf.route] = window.whole(leaf.text)
        try:
            out.append(self._texts.write(chunk, changed))
        except Exception as error:
            window.refuse(HookError(f"the text of a chunk cannot be rewritten: {error}; use stream='buffer'"))
            raise
        return out

    def unreadable(self, error: Exception) -> None:
        """What has come cannot be read, so hooks cannot see it.

        Raises:
            Reject: Always.
        """
        self._window.refuse(HookError(f"the text of a chunk cannot be read: {error}; use stream='buffer'"))

    def _ended(self, said: ChunkText, changed: dict[Any, str]) -> list[Any]:
        """The rest of the channels that end with a chunk: in the chunk itself if it has text of theirs."""
        here = {leaf.channel: leaf.route for leaf in said.grows}
        out: list[Any] = []
        for channel in self._window.open:
            if said.ends(cast("Channel", channel)):
                rest = self._window.end(channel)
                chunk, leaf = self._last.pop(channel)
                if rest and channel in here:
                    changed[here[cast("Channel", channel)]] += rest
                elif rest:
                    out.append(self._more(chunk, leaf, rest))
        return out

    def _more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        try:
            return self._texts.more(chunk, leaf, text)
        except Exception as error:
            self._window.refuse(HookError(f"a chunk cannot be made for held back text: {error}; use stream='buffer'"))
            raise

    def rest(self) -> list[Any]:
        """What goes out at the end of the stream.

        Raises:
            Reject: A hook refuses it.
        """
        out: list[Any] = []
        for channel in self._window.open:
            rest = self._window.end(channel)
            chunk, leaf = self._last.pop(channel)
            if rest:
                out.append(self._more(chunk, leaf, rest))
        self._window.settle()
        return out

    def unread(self) -> list[Any]:
        """What is still held back from a consumer that stops early, as hooks would let it out."""
        if self._op.decided.refused:
            return []
        out: list[Any] = []
        for channel in self._window.open:
            rest = self._window.unread(channel)
            if rest:
                out.append(self._more(*self._last[channel], rest))
        self._window.settle()
        return out


class Framed:
    """A flow of pieces, such as bytes, in which chunks stand as units.

    Args:
        flow: Lets units pass.
        framing: Cuts pieces into units.
    """

    def __init__(self, flow: Flow, framing: Framing) -> None:
        self._flow, self._framing = flow, framing

    def through(self, piece: Any) -> Sequence[Any]:
        return self._framing.pieces(self._passed(lambda: self._framing.units(piece)))

    def rest(self) -> Sequence[Any]:
        units = self._passed(self._framing.rest)
        return self._framing.pieces([*units, *self._flow.rest()], last=True)

    def unread(self) -> Sequence[Any]:
        return self._framing.pieces(self._flow.unread())

    def _passed(self, cut: Callable[[], Iterable[Any]]) -> list[Any]:
        try:
            units = cut()
        except Exception as error:
            self._flow.unreadable(error)
            raise
        return [out for unit in units for out in self._flow.through(unit)]


class Outgoing:
    """What has arrived of a stream and not gone out. It does not refer to the stream.

    Attributes:
        ready: What may go out.
        stop: What the source raised at its end.
    """

    __slots__ = ("_flow", "_told", "ready", "stop")

    def __init__(self, flow: Flow | Framed) -> None:
        self._flow, self._told = flow, False
        self.ready: deque[Any] = deque()
        self.stop: BaseException | None = None

    def left(self) -> list[Any]:
        """All of it, for telemetry, when the consumer or the source has stopped early."""
        if self.stop is not None or self._told:
            return []
        self._told = True
        return [*self.ready, *self._flow.unread()]


class Windowed:
    """The library's iterator, sync or async, with what may go out."""

    def __init__(self, source: Any, flow: Flow | Framed) -> None:
        self._source, self._flow = source, flow
        self.outgoing = Outgoing(flow)

    def __getattr__(self, name: str) -> Any:
        if name == "_source":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._source, name)

    def __iter__(self) -> Any:
        return self

    def __aiter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._step("__next__")

    def send(self, value: Any) -> Any:
        return self._step("send", value)

    def throw(self, *error: Any) -> Any:
        return self._step("throw", *error)

    def _step(self, method: str, *args: Any) -> Any:
        while not self.outgoing.ready:
            if self.outgoing.stop is not None:
                raise self.outgoing.stop
            try:
                chunk = getattr(self._source, method)(*args)
            except StopIteration as stop:
                self._ends(stop)
                continue
            try:
                self.outgoing.ready.extend(self._flow.through(chunk))
            except BaseException:
                self._close()
                raise
            method, args = "__next__", ()
        return self.outgoing.ready.popleft()

    async def __anext__(self) -> Any:
        return await self._astep("__anext__")

    async def asend(self, value: Any) -> Any:
        return await self._astep("asend", value)

    async def athrow(self, *error: Any) -> Any:
        return await self._astep("athrow", *error)

    async def _astep(self, method: str, *args: Any) -> Any:
        while not self.outgoing.ready:
            if self.outgoing.stop is not None:
                raise self.outgoing.stop
            try:
                chunk = await getattr(self._source, method)(*args)
            except StopAsyncIteration as stop:
                self._ends(stop)
                continue
            try:
                self.outgoing.ready.extend(self._flow.through(chunk))
            except BaseException:
                await self._aclose()
                raise
            method, args = "__anext__", ()
        return self.outgoing.ready.popleft()

    def _ends(self, stop: BaseException) -> None:
        self.outgoing.stop = stop
        self.outgoing.ready.extend(self._flow.rest())

    def _close(self) -> None:
        """A hook has refused the rest: let go of the connection."""
        close = getattr(self._source, "close", None)
        try:
            if close is not None:
                close()
        except Exception as error:
            internal.report("window.close", error)

    async def _aclose(self) -> None:
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        try:
            if close is not None:
                done = close()
                if hasattr(done, "__await__"):
                    await done
        except Exception as error:
            internal.report("window.close", error)
