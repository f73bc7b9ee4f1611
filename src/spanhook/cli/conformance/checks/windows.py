"""The check of windows: streamed text that a hook sees before it goes out."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from spanhook.cli.conformance.checks.cells import ANSWER, NONE, NOT_GATED, OK, PATIENCE, Cell, Way, Wrong, operations_of
from spanhook.cli.conformance.subject import STREAMED, Body, Subject, settle
from spanhook.errors import Reject
from spanhook.gating import Hook, Hooks
from spanhook.model import Operation
from spanhook.testing import recorder


def windowed(way: Way) -> Cell:
    """The caller and callbacks get streamed text only as a hook lets it out, piece by piece."""
    subject = way.subject
    if not subject.said:
        return Cell(NOT_GATED) if subject.kind == "agent.invoke" and way.name in STREAMED else NONE
    hearing = subject.listeners or _nobody_listens
    for decide in (_rewrite_text, _refuse_text):
        for listening in hearing(subject, way.name):
            hooks, body = Hooks(), Body()
            hooks.add(Windowing(subject.kind, subject.said.split(), decide))
            call = way.take(subject.make(body))
            result: Any = None
            with recorder(hooks) as seen, listening as heard, suppress(Reject):
                result = settle(call())
            told = f"{result!r} {heard.results!r}"
            if leaked := [word for word in subject.said.split() if word in told]:
                raise Wrong(f"a hook {_DID[decide]} the text, and {' '.join(leaked)!r} got out")
            if decide is _rewrite_text and ANSWER not in told:
                raise Wrong("a hook rewrote the text, and nobody got the rewritten one")
            decided = {decision.decision for op in operations_of(way, seen) for decision in op.decisions}
            if decided != {"replace" if decide is _rewrite_text else "reject"}:
                raise Wrong(
                    f"a hook {_DID[decide]} the text, and this was recorded as "
                    f"{', '.join(sorted(decided)) or 'nothing'}"
                )
    return Cell(OK)


@dataclass
class Heard:
    """Stands in for callbacks where there are none."""

    results: tuple[Any, ...] = ()


def _nobody_listens(_subject: Subject, _way: str) -> Iterable[AbstractContextManager[Any]]:
    return (nullcontext(Heard()),)


class Windowing(Hook):
    """A hook that sees the text of streams before it goes out, and whole results.

    Args:
        kind: The kind of operation.
        words: What must not get out.
        decide: What becomes of a text with one of them.
    """

    name = "window"
    stream = "window"
    fail_mode = "closed"
    timeout = PATIENCE

    def __init__(self, kind: str, words: list[str], decide: Callable[[str, list[str]], str]) -> None:
        self.kinds = (kind,)
        self.window = max(map(len, words))
        self._words, self._decide = words, decide

    def text(self, op: Operation, text: str) -> str:
        return self._decide(text, self._words)

    def after(self, op: Operation) -> None:
        said = op.response.text
        if self._decide(said, self._words) != said:
            op.respond(ANSWER)


def _rewrite_text(text: str, words: list[str]) -> str:
    for word in words:
        text = text.replace(word, ANSWER)
    return text


def _refuse_text(text: str, words: list[str]) -> str:
    if any(word in text for word in words):
        raise Reject("refused by spanhook conformance", status_code=451)
    return text


_DID: dict[Any, str] = {_rewrite_text: "rewrote", _refuse_text: "refused"}
