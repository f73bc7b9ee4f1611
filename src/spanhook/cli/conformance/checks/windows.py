"""The check of windows: streamed text that a hook sees before it goes out."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from spanhook.cli.conformance.checks.cells import (
    ANSWER,
    NONE,
    NOT_GATED,
    OK,
    PATIENCE,
    Cell,
    Way,
    Wrong,
    ended,
    of_kind,
)
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
    hooks, hook = Hooks(), Windowing(subject.kind, subject.said.split())
    hooks.add(hook)
    turns = [(decide, one) for decide in (_rewrite_text, _refuse_text) for one in hearing(subject, way.name)]
    calls = [way.take(subject.make(Body())) for _ in turns]
    with recorder(hooks) as seen:
        for (hook.decide, listening), call in zip(turns, calls, strict=True):
            since, result = len(seen.operations), None
            with listening as heard, suppress(Reject):
                result = settle(call())
            operations, decide = ended(seen, since), hook.decide
            told = f"{result!r} {heard.results!r}"
            if leaked := [word for word in subject.said.split() if word in told]:
                raise Wrong(f"a hook {_DID[decide]} the text, and {' '.join(leaked)!r} got out")
            if decide is _rewrite_text and ANSWER not in told:
                raise Wrong("a hook rewrote the text, and nobody got the rewritten one")
            decided = {decision.decision for op in of_kind(way, operations) for decision in op.decisions}
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

    Attributes:
        decide: What becomes of a text with one of the words.

    Args:
        kind: The kind of operation.
        words: What must not get out.
    """

    name = "window"
    stream = "window"
    fail_mode = "closed"
    timeout = PATIENCE

    def __init__(self, kind: str, words: list[str]) -> None:
        self.kinds = (kind,)
        self.window = max(map(len, words))
        self._words = words
        self.decide: Callable[[str, list[str]], str] = _rewrite_text

    def text(self, op: Operation, text: str) -> str:
        return self.decide(text, self._words)

    def after(self, op: Operation) -> None:
        said = op.response.text
        if self.decide(said, self._words) != said:
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
