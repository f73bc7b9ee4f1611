"""Programs of several libraries, beside all that others instrument them with: each call is one operation, and its
usage is counted once, as the provider's ledger has it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from langgraph.pregel import Pregel

import spanhook
from spanhook.testing import recorder
from tests.foreign.comparison import ENDED_FIRST, ORDERS, beside, watching
from tests.foreign.programs import PROGRAMS, Program
from tests.foreign.suites import LEAVING, SUITES, Made, entered

pytestmark = [pytest.mark.foreign, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
RESTORING = [suite for suite in SUITES if suite not in LEAVING]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("suite", RESTORING)
def test_all_of_a_project(name: str, suite: str, order: str, servers: Any) -> None:
    program = PROGRAMS[name]
    beside(program, servers[program.server], list(SUITES[suite].values()), order)


def crossed() -> Iterator[Any]:
    """Each program beside the instrumentation of only what is above, or only what is below."""
    for name, program in PROGRAMS.items():
        for suite, found in SUITES.items():
            if suite in LEAVING:
                continue
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


@pytest.mark.parametrize("suite", RESTORING)
def test_theirs_ended_below_ours(suite: str, servers: Any) -> None:
    """Each time, theirs leave a layer that passes calls through: what removes it looks at the outermost only. One
    program a project, as signatures of what has many layers take long to read.
    """
    program = PROGRAMS["MCP in OpenAI Agents" if suite == "Logfire" else "LangGraph over OpenAI"]
    beside(program, servers[program.server], list(SUITES[suite].values()), ENDED_FIRST)


@pytest.mark.parametrize("suite", RESTORING)
def test_what_is_instrumented_is_restored_in_either_order(suite: str, servers: Any) -> None:
    """Once all is ended, nothing of ours or theirs sees a call."""
    made = list(SUITES[suite].values())
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


def test_what_opentelemetry_puts_back_is_removed() -> None:
    """It reads a wrapper from its class to put it back, which is then a bound one."""
    original = vars(Pregel)["stream"]
    with recorder() as seen:
        assert vars(Pregel)["stream"] is not original
        with SUITES["OpenTelemetry"]["langchain"](seen.tracer_provider):
            pass
    assert vars(Pregel)["stream"] in (original, original.__get__(None, Pregel))
