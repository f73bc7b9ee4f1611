"""A program beside the instrumentations of others, compared with itself alone and with the provider's ledger."""

from collections import Counter
from contextlib import ExitStack
from typing import Any

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import Recorder, recorder
from tests.applications.ledger import Ledger, counted, measured
from tests.foreign.programs import DONE, Program
from tests.foreign.suites import Made, entered

Facts = list[tuple[str, str, bool]]


ORDERS = ("ours first", "theirs first")
ENDED_FIRST = "theirs first, and ended first"


def watching() -> tuple[Hooks, list[str]]:
    """Hooks for everything, and the kinds that they were asked about."""
    hooks, asked = Hooks(), list[str]()

    @hooks.before("*", name="watch")
    def watch(op: Operation) -> None:
        asked.append(op.kind)

    return hooks, asked


def facts(seen: Recorder) -> Facts:
    return sorted((op.kind, op.status, op._record.foreign) for op in seen.operations)


def alone(program: Program, server: OpenAIServer) -> tuple[Facts, list[str]]:
    """What there is to see of a program without the instrumentations of others."""
    hooks, asked = watching()
    with recorder(hooks) as seen:
        program(server)
    return facts(seen), sorted(asked)


def beside(program: Program, server: OpenAIServer, made: list[Made], order: str, own: bool = False) -> None:
    """Run a program beside the instrumentations of others, and expect what there is without them."""
    expected, expected_asked = alone(program, server)
    hooks, asked = watching()
    DONE.clear()
    with recorder(hooks) as seen, ExitStack() as stack:
        if order != "ours first":
            spanhook.uninstrument()
        theirs = stack.enter_context(ExitStack())
        theirs.enter_context(entered(made, seen.tracer_provider))
        if order != "ours first":
            providers: dict[str, Any] = {"meter_provider": seen.meter_provider, "logger_provider": seen.logger_provider}
            spanhook.instrument(hooks, tracer_provider=seen.tracer_provider, **providers)
            if order == "theirs first":
                stack.callback(spanhook.uninstrument)
        ledger = program(server, seen.tracer_provider if own else None)
        if order == ENDED_FIRST:
            theirs.close()
    assert (facts(seen), sorted(asked)) == (expected, expected_asked)
    expect_ledger(seen, ledger)
    assert not [op for op in seen.operations if op._record.foreign]
    assert len(DONE) == Counter(op.kind for op in seen.operations)["tool.execute"] or "mcp" in program.below


def expect_ledger(seen: Recorder, ledger: Ledger) -> None:
    calls = [op.usage for op in seen.operations if op.kind == "llm.call"]  # there may be no agent above them
    used = sum(one.input_tokens for one in calls), sum(one.output_tokens for one in calls)
    assert (len(calls), *used) == ledger.totals[:3]
    if len({op.kind for op in seen.operations} & {"agent.invoke", "run"}):
        assert counted(seen)[:3] == ledger.totals[:3]
    assert measured(seen) == ledger.totals[1:3]
