"""Checks of what hooks change: requests, answers in place of calls, results, and what callbacks hear of them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

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
    operations_of,
)
from spanhook.cli.conformance.checks.refusing import refuse
from spanhook.cli.conformance.subject import PLANTED, STREAMED, Body, settle
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.model import Operation
from spanhook.testing import Recorder, recorder


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
    "tool.execute": lambda way, op: op.replace(arguments=(way.subject.rewrites or _planted)(op.request.arguments)),
    "memory.store": lambda _way, op: op.replace(arguments=_planted(op.request.arguments)),
    "agent.invoke": lambda way, op: op.replace(inputs=(way.subject.rewrites or _planted)(op.request.inputs)),
    "mcp.resource.read": lambda _way, op: op.replace(arguments={"uri": f"doc://{PLANTED}"}),
    "mcp.prompt.get": lambda _way, op: op.replace(arguments=_planted(op.request.arguments)),
    "request": lambda _way, op: op.replace(headers={**op.request.headers, "x-query": PLANTED}),
}


def answered(way: Way) -> Cell:
    """If a hook answers in place of the call, the body does not run; hooks after it and the caller get the answer."""
    answer = ANSWER if way.subject.said else way.subject.answer
    if answer is None or way.name in way.subject.blocks:
        return NONE
    hooks, body, read = Hooks(), Body(), list[str]()

    @hooks.before(way.subject.kind, timeout=PATIENCE, name="answer")
    def respond(op: Operation) -> None:
        op.respond(answer)

    hooks.after(way.subject.kind, timeout=PATIENCE, name="read")(partial(_read, read))
    call = way.take(way.subject.make(body))
    with recorder(hooks) as seen:
        result = repr(settle(call()))
    if body.runs:
        raise Wrong("a hook answered, and the call was made")
    if not way.subject.answerable:
        return Cell(NOT_GATED)
    if str(answer) not in result:
        raise Wrong("a hook answered, and the caller did not get the answer")
    if way.subject.kind == "llm.call" and not all(str(answer) in text for text in read):
        raise Wrong("a hook answered, and hooks after the call could not read the answer")
    _expect_recorded(way, seen, "answered")
    return Cell(OK)


def held(way: Way) -> Cell:
    """The body's output is held back until a hook has decided; only what the hook decides gets out."""
    subject = way.subject
    if not subject.said:
        return Cell(NOT_GATED) if subject.kind == "agent.invoke" and way.name in STREAMED else NONE
    hooks, body = Hooks(), Body()
    read: list[str] = []
    hooks.after(subject.kind, stream="buffer", priority=50, timeout=PATIENCE, name="replace")(_replace)
    hooks.after(subject.kind, timeout=PATIENCE, name="read")(partial(_read, read))
    call = way.take(subject.make(body))
    with recorder(hooks) as seen:
        result = repr(settle(call()))
    if leaked := [word for word in subject.said.split() if word in result]:
        raise Wrong(f"a hook replaced the output, and the caller got {' '.join(leaked)!r}")
    if ANSWER not in result:
        raise Wrong("a hook replaced the output, and the caller did not get the replacement")
    if subject.kind == "llm.call" and not all(ANSWER in text for text in read):
        raise Wrong("a hook replaced the output, and the hooks that follow could not read the replacement")
    _expect_recorded(way, seen, "replaced the output")
    return Cell(OK)


def _expect_recorded(way: Way, seen: Recorder, did: str) -> None:
    told = {decision.decision for op in operations_of(way, seen) for decision in op.decisions}
    if told != {"replace"}:
        raise Wrong(f"a hook {did}, and this was recorded as {', '.join(sorted(told)) or 'nothing'}")


def _read(read: list[str], op: Operation) -> None:
    read.append(op.response.text)


def _replace(op: Operation) -> None:
    op.respond(ANSWER)


_DID: dict[Any, str] = {
    _replace: "replaced",
    refuse: "refused",
}


def callbacks(way: Way) -> Cell:
    """Callbacks, too, only get what a hook decided."""
    subject = way.subject
    if not subject.said or subject.listeners is None:
        return NONE
    hooks = Hooks()
    decisions: list[Callable[[Operation], None]] = [_replace]

    @hooks.after(subject.kind, stream="buffer", priority=50, timeout=PATIENCE, name="decide")
    def decided(op: Operation) -> None:
        decisions[-1](op)

    turns = [(decide, one) for decide in (_replace, refuse) for one in subject.listeners(subject, way.name)]
    calls = [way.take(subject.make(Body())) for _ in turns]
    with recorder(hooks) as seen:
        for (decide, listening), call in zip(turns, calls, strict=True):
            decisions.append(decide)
            since = len(seen.operations)
            with listening as heard, suppress(Reject):
                settle(call())
            ended(seen, since)
            told = repr(heard.results)
            if leaked := [word for word in subject.said.split() if word in told]:
                raise Wrong(f"a hook {_DID[decide]} the output, and callbacks got {' '.join(leaked)!r}")
            if decide is _replace and heard.ends and ANSWER not in told:
                raise Wrong("a hook replaced the output, and callbacks did not get the replacement")
    return Cell(OK)
