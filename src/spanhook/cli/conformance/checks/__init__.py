"""The checks of a way of calling: each is a column of the matrix."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

from spanhook.cli.conformance.checks.cells import (
    ANSWER,
    FAILED,
    NONE,
    NOT_GATED,
    OK,
    PATIENCE,
    PLANTED,
    Cell,
    Way,
    Wrong,
    operations_of,
)
from spanhook.cli.conformance.checks.windows import windowed
from spanhook.cli.conformance.subject import STREAMED, Body, Ungated, settle
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.model import Operation
from spanhook.testing import recorder


def _refuse(_op: Operation) -> None:
    raise Reject("refused by spanhook conformance", status_code=451)


async def _arefuse(op: Operation) -> None:
    _refuse(op)


def denied(way: Way) -> Cell:
    """If a hook, sync or async, refuses the call, the body does not run."""
    for refuse in (_refuse, _arefuse):
        hooks, body = Hooks(), Body()
        hooks.before(way.subject.kind, timeout=PATIENCE, name="refuse")(refuse)
        call = way.take(way.subject.make(body))
        result: Any = None
        with recorder(hooks) as seen:
            try:
                result = settle(call())
            except Reject as error:
                if error.status_code != 451:
                    raise Wrong(f"the caller got {error!r}, which is not what the hook raised") from None
            else:
                if way.subject.raises and not body.runs:
                    raise Wrong(f"a hook refused it, and the caller got {_brief(repr(result))}")
        if body.runs:
            raise Wrong(f"a hook refused it, and the call was made{_times(body.runs)}")
        if not any(op.status == "rejected" for op in operations_of(way, seen)):
            raise Wrong("no hook was asked")
    return Cell(OK)


def once(way: Way) -> Cell:
    """Operations, hook runs and tokens match the number of calls."""
    hooks, body = Hooks(), Body()
    passes = {"before": 0, "after": 0}

    @hooks.before(way.subject.kind)
    def count_before(_op: Operation) -> None:
        passes["before"] += 1

    @hooks.after(way.subject.kind)
    def count_after(_op: Operation) -> None:
        passes["after"] += 1

    call = way.take(way.subject.make(body))
    with recorder(hooks) as seen:
        settle(call())
        tokens = sum(value for _, value in seen.metrics().get("spanhook.usage.tokens", ()))
    mine = operations_of(way, seen)
    found = {"operations": len(mine), **{f"runs of {phase} hooks": count for phase, count in passes.items()}}
    wrong = [f"{count} {what}" for what, count in found.items() if count != way.calls]
    if wrong:
        raise Wrong(f"{', '.join(wrong)}, where there {'was 1 call' if way.calls == 1 else f'were {way.calls} calls'}")
    if odd := {op.status for op in mine} - {"success"}:
        raise Wrong(f"the call succeeded, and its status is {', '.join(sorted(odd))}")
    if body.tokens and not any(op.usage.estimated for op in mine) and tokens != body.tokens:
        raise Wrong(f"{tokens} tokens were counted, but {body.tokens} were used")
    return Cell(OK)


def held(way: Way) -> Cell:
    """The body's output is held back until a hook has decided; only what the hook decides gets out."""
    subject = way.subject
    if not subject.said:
        return Cell(NOT_GATED) if subject.kind == "agent.invoke" and way.name in STREAMED else NONE
    hooks, body = Hooks(), Body()
    hooks.after(subject.kind, stream="buffer", priority=50, timeout=PATIENCE, name="replace")(_replace)
    call = way.take(subject.make(body))
    with recorder(hooks) as seen:
        result = repr(settle(call()))
    if leaked := [word for word in subject.said.split() if word in result]:
        raise Wrong(f"a hook replaced the output, and the caller got {' '.join(leaked)!r}")
    if ANSWER not in result:
        raise Wrong("a hook replaced the output, and the caller did not get the replacement")
    told = {decision.decision for op in operations_of(way, seen) for decision in op.decisions}
    if told != {"replace"}:
        raise Wrong(f"a hook replaced the output, and this was recorded as {', '.join(sorted(told)) or 'nothing'}")
    return Cell(OK)


def _replace(op: Operation) -> None:
    op.respond(ANSWER)


_DID: dict[Any, str] = {
    _replace: "replaced",
    _refuse: "refused",
}


def callbacks(way: Way) -> Cell:
    """Callbacks, too, only get what a hook decided."""
    subject = way.subject
    if not subject.said or subject.listeners is None:
        return NONE
    for decide in (_replace, _refuse):
        for listening in subject.listeners(subject, way.name):
            hooks, body = Hooks(), Body()
            hooks.after(subject.kind, stream="buffer", priority=50, timeout=PATIENCE, name="decide")(decide)
            call = way.take(subject.make(body))
            with recorder(hooks), listening as heard, suppress(Reject):
                settle(call())
            told = repr(heard.results)
            if leaked := [word for word in subject.said.split() if word in told]:
                raise Wrong(f"a hook {_DID[decide]} the output, and callbacks got {' '.join(leaked)!r}")
            if decide is _replace and heard.ends and ANSWER not in told:
                raise Wrong("a hook replaced the output, and callbacks did not get the replacement")
    return Cell(OK)


def rewritten(way: Way) -> Cell:
    """The body gets the request as a hook rewrote it."""
    rewrite = _REWRITES.get(way.subject.kind)
    if rewrite is None:
        return NONE
    hooks, body = Hooks(), Body()
    hooks.before(way.subject.kind, timeout=PATIENCE, name="rewrite")(partial(rewrite, way))
    call = way.take(way.subject.make(body))
    with recorder(hooks):
        settle(call())
    if not body.seen or not all(PLANTED in repr(given) for given in body.seen):
        raise Wrong("a hook rewrote the request, and the original one arrived")
    return Cell(OK)


def _rewrite_messages(way: Way, op: Operation) -> None:
    messages: Any = [_planted_message(message) for message in op.request.messages]
    op.replace(messages=[[one] for one in messages] if way.name in ("generate", "agenerate") else messages)


def _planted_message(message: Any) -> Any:
    parts = [{**part, "content": PLANTED} if part["type"] == "text" else part for part in message["parts"]]
    return {**message, "parts": parts}


def _planted(value: Any) -> Any:
    """``value`` with its texts replaced."""
    if isinstance(value, str):
        return PLANTED
    if isinstance(value, dict):
        return {key: _planted(one) for key, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return list(map(_planted, cast("list[Any]", value)))
    if isinstance(value, tuple):
        return tuple(map(_planted, cast("tuple[Any, ...]", value)))
    return value


_REWRITES: dict[str, Callable[[Way, Operation], None]] = {
    "llm.call": _rewrite_messages,
    "tool.execute": lambda _way, op: op.replace(arguments=_planted(op.request.arguments)),
    "memory.store": lambda _way, op: op.replace(arguments=_planted(op.request.arguments)),
    "agent.invoke": lambda _way, op: op.replace(inputs=_planted(op.request.inputs)),
}

CHECKS: dict[str, Callable[[Way], Cell]] = {
    "denied": denied,
    "once": once,
    "held": held,
    "window": windowed,
    "callbacks": callbacks,
    "rewritten": rewritten,
}
"""The checks, by column name."""


Checks = dict[str, Callable[[], Cell]]
"""The functions that fill in a row, by column."""


def checks_of(way: Way) -> Checks:
    """Every check of one way of calling; none raises."""
    if way.lacking:
        return dict.fromkeys(CHECKS, _none)
    return {column: partial(_one, check, way) for column, check in CHECKS.items()}


def _one(check: Callable[[Way], Cell], way: Way) -> Cell:
    try:
        return check(way)
    except Wrong as wrong:
        return Cell(FAILED, str(wrong))
    except Exception as error:
        return Cell(FAILED, f"{type(error).__name__}: {_brief(str(error))}")


def checks_of_ungated(one: Ungated) -> Checks:
    """Whether what is documented as not gated is in fact not gated; it never fails."""
    return {**dict.fromkeys(CHECKS, _none), "denied": partial(_ungated, one)}


def _ungated(one: Ungated) -> Cell:
    if one.use is None:
        return Cell(NOT_GATED)
    hooks, body = Hooks(), Body()
    hooks.before("*", timeout=PATIENCE, name="refuse")(_refuse)
    thing = one.make(body)
    with recorder(hooks):
        try:
            settle(one.use(thing))
        except Reject:
            return Cell(NOT_GATED if body.runs else OK)
        except Exception:  # unknown to the loopback server, but it was called
            return Cell(NOT_GATED)
    return Cell(NOT_GATED)


def _none() -> Cell:
    return NONE


def _times(count: int) -> str:
    return "" if count == 1 else f" {count} times"


def _brief(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
