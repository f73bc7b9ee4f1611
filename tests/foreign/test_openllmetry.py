"""The same beside OpenLLMetry, which leaves layers when it is ended, also without spanhook: after the other tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign.comparison import ENDED_FIRST, ORDERS, beside
from tests.foreign.programs import PROGRAMS, Program
from tests.foreign.suites import SUITES, Made

pytestmark = [pytest.mark.foreign, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
THEIRS = SUITES["OpenLLMetry"]


def crossed() -> Iterator[Any]:
    """Each program beside the instrumentation of only what is above, or only what is below."""
    for name, program in PROGRAMS.items():
        for library in dict.fromkeys((program.above, program.below)):
            if library in THEIRS:
                yield pytest.param(program, THEIRS[library], id=f"{name}-{library}")


@pytest.mark.parametrize("name", ["LangGraph over OpenAI", "Pydantic AI over Anthropic", "MCP in OpenAI Agents"])
def test_all_projects_at_once(name: str, servers: Any) -> None:
    program = PROGRAMS[name]
    beside(program, servers[program.server], [one for suite in SUITES.values() for one in suite.values()], ORDERS[0])


@pytest.mark.parametrize("order", [*ORDERS, ENDED_FIRST])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_of_openllmetry(name: str, order: str, servers: Any) -> None:
    program = PROGRAMS[name]
    beside(program, servers[program.server], list(THEIRS.values()), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("program", "made"), list(crossed()))
def test_one_of_the_libraries(program: Program, made: Made, order: str, servers: Any) -> None:
    beside(program, servers[program.server], [made], order)
