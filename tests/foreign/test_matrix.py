"""Programs of several libraries, beside all that others instrument them with: each call is one operation, and its
usage is counted once, as the provider's ledger has it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import Recorder, recorder
from tests.applications.ledger import Ledger, counted, measured
from tests.foreign.programs import DONE, PROGRAMS, Program
from tests.foreign.suites import SUITES, Made, entered

pytestmark = [pytest.mark.foreign, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Facts = list[tuple[str, str, bool]]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[type[OpenAIServer], OpenAIServer]]:
    with ExitStack() as stack:
        yield {made: stack.enter_context(made()) for made in {one.server for one in PROGRAMS.values()}}


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
            providers = {"meter_provider": seen.meter_provider, "logger_provider": seen.logger_provider}
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


ORDERS = ("ours first", "theirs first")
ENDED_FIRST = "theirs first, and ended first"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_of_a_project(name: str, suite: str, order: str, servers: Any) -> None:
    program = PROGRAMS[name]
    beside(program, servers[program.server], list(SUITES[suite].values()), order)


def crossed() -> Iterator[Any]:
    """Each program beside the instrumentation of only what is above, or only what is below."""
    for name, program in PROGRAMS.items():
        for suite, found in SUITES.items():
            for library in dict.fromkeys((program.above, program.below)):
                if library in found:
                    yield pytest.param(program, found[library], id=f"{name}-{suite}-{library}")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("program", "made"), list(crossed()))
def test_one_of_the_libraries(program: Program, made: Made, order: str, servers: Any) -> None:
    beside(program, servers[program.server], [made], order)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sdks_that_trace_themselves(name: str, servers: Any) -> None:
    program = PROGRAMS[name]
    beside(program, servers[program.server], list(SUITES["Pydantic AI"].values()), "ours first", own=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_projects_at_once(name: str, servers: Any) -> None:
    program = PROGRAMS[name]
    made = [one for suite in SUITES.values() for one in suite.values()]
    beside(program, servers[program.server], made, "ours first")


@pytest.mark.parametrize("suite", SUITES)
def test_theirs_ended_below_ours(suite: str, servers: Any) -> None:
    """Each time, theirs leave a layer that passes calls through: what removes it looks at the outermost only. One
    program a project, as signatures of what has many layers take long to read.
    """
    program = PROGRAMS["MCP in OpenAI Agents" if suite == "Logfire" else "LangGraph over OpenAI"]
    beside(program, servers[program.server], list(SUITES[suite].values()), ENDED_FIRST)


@pytest.mark.parametrize("suite", SUITES)
def test_what_is_instrumented_is_restored_in_either_order(suite: str, servers: Any) -> None:
    """Once all is ended, nothing of ours or theirs sees a call."""
    made: list[Callable[..., Any]] = list(SUITES[suite].values())
    for ended_first in (True, False):
        hooks, asked = watching()
        with recorder(hooks) as seen, ExitStack() as theirs:
            theirs.enter_context(entered(made, seen.tracer_provider))
            if ended_first:
                theirs.close()
            else:
                spanhook.uninstrument()
        spans = len(seen.spans)
        for program in PROGRAMS.values():
            program(servers[program.server])
        assert (asked, len(seen.spans)) == ([], spans)
