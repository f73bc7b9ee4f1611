"""Shows hooks with ``stream="window"`` the text of one stream before it goes out, and acts on what they decide."""

from collections.abc import Callable, Hashable, Iterable

from spanhook.errors import HookError
from spanhook.gating._decisions import Verdicts
from spanhook.gating.binding import Bound
from spanhook.gating.tally import count_decision
from spanhook.gating.text_filters import TextFilter
from spanhook.model import STREAMING, Operation, Record, StreamState, clock


class Window:
    """The filters of one stream, one for each hook and channel.

    Args:
        op: The operation, whose call has been made.
        hooks: The hooks, in order.
    """

    def __init__(self, op: Record, hooks: Iterable[Bound]) -> None:
        self._op = op
        self._view = Operation(op)
        self._view._locked = STREAMING
        self._hooks = [_Filters(bound) for bound in hooks]
        self._said: dict[Hashable, tuple[list[str], list[str]]] = {}
        self._repeated: dict[str, str] = {}

    @property
    def open(self) -> list[Hashable]:
        """The channels that have begun and not ended."""
        return list(self._said)

    def feed(self, channel: Hashable, text: str) -> str:
        """What may go out of a channel, now that it goes on with ``text``.

        Raises:
            Reject: A hook refuses it, or has failed.
        """
        said, out = self._said.setdefault(channel, ([], []))
        said.append(text)
        for one in self._hooks:
            text = self._ask(one, lambda one=one, text=text: one.at(channel, self._view).feed(text))
            if not text:
                break
        out.append(text)
        return text

    def end(self, channel: Hashable) -> str:
        """The rest of a channel.

        Raises:
            Reject: A hook refuses it, or has failed.
        """
        said, out = self._said.pop(channel)
        rest = ""
        for one in self._hooks:
            rest = self._ask(one, lambda one=one, rest=rest: one.rest(channel, self._view, rest))
        out.append(rest)
        whole, made = "".join(said), "".join(out)
        self._repeated[whole] = made
        return rest

    def unread(self, channel: Hashable) -> str:
        """The rest of a channel that nobody will read, as it would have gone out; empty if it would not have."""
        rest = ""
        try:
            for one in self._hooks:
                rest = one.rest(channel, self._view, rest, unread=True)
        except Exception:
            return ""
        return rest

    def whole(self, text: str) -> str:
        """A complete text, as it may go out; the same as before if a channel has said it already.

        Raises:
            Reject: A hook refuses it, or has failed.
        """
        made = self._repeated.get(text)
        if made is None:
            channel = object()
            made = self.feed(channel, text) + self.end(channel)
        return made

    def refuse(self, error: Exception) -> None:
        """The text cannot be read, so the first hook has failed.

        Raises:
            Reject: Always.
        """
        raise self._failed(self._hooks[0].bound, error, 0)

    def settle(self) -> None:
        """The stream has ended: record which hooks have rewritten it."""
        for one in self._hooks:
            if one.changed:
                stream = self._op.part(StreamState)
                self._op.phase, stream.reworded = "post", True
                reason = "; ".join(dict.fromkeys(filter(None, one.reasons))) or "rewrote streamed text"
                Verdicts(self._op, count_decision).record(one.bound, "replace", reason, one.longest_ns)
                one.changed = False

    def _ask(self, one: "_Filters", ask: Callable[[], object]) -> str:
        started = clock.now()
        try:
            text = ask()
            if not isinstance(text, str):
                raise HookError(f"its filter returned a {type(text).__name__}, expected the text that may go out")
        except BaseException as error:
            failure = error
        else:
            one.longest_ns = max(one.longest_ns, clock.now() - started)
            return text
        raise self._failed(one.bound, failure, clock.now() - started)

    def _failed(self, bound: Bound, error: BaseException, spent: int) -> BaseException:
        """What a stream ends with whose filter has raised ``error``."""
        self._op.phase = "post"
        Verdicts(self._op, count_decision, in_time=True).failed(bound, error, spent)
        return self._op.error or error


class _Filters:
    """The filters of one hook.

    Attributes:
        changed: Whether one of them has let out other text than it was given.
        reasons: What they say about that.
        longest_ns: The longest that one of them took for a piece of text.
    """

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.changed = False
        self.reasons: list[str] = []
        self.longest_ns = 0
        self._by_channel: dict[Hashable, _Compared] = {}

    def at(self, channel: Hashable, view: Operation) -> "_Compared":
        found = self._by_channel.get(channel)
        if found is None:
            found = self._by_channel[channel] = _Compared(self.bound.hook.text_filter(view))
        return found

    def rest(self, channel: Hashable, view: Operation, text: str, *, unread: bool = False) -> str:
        """Feed a last piece, and end the channel."""
        found = self.at(channel, view)
        made = (found.feed(text) if text else "") + found.end(unread=unread)
        del self._by_channel[channel]
        if found.changed:
            self.changed = True
            self.reasons.append(str(getattr(found.filter, "reason", "") or ""))
        return made


class _Compared:
    """A filter, and whether it has changed anything."""

    def __init__(self, made: TextFilter) -> None:
        self.filter = made
        self.changed = False
        self._given: list[str] = []
        self._made: list[str] = []

    def feed(self, text: str) -> str:
        self._given.append(text)
        out = self.filter.feed(text)
        self._made.append(out)
        return out

    def end(self, *, unread: bool) -> str:
        out = getattr(self.filter, "unread", self.filter.end)() if unread else self.filter.end()
        self._made.append(out)
        self.changed = "".join(self._given) != "".join(self._made)
        return out
