"""Fixtures: the stack, once for all tests that only read; and the figures of all tests, told at the end."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.e2e.figures import Figures
from tests.e2e.stack import Pipe, Stack, pipe, stack
from tests.e2e.told import Told, tell

_FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack, None, None]:
    """The whole pipeline, keeping every trace."""
    with stack(tmp_path_factory.mktemp("stack"), {"SPANHOOK_SAMPLING_PERCENT": "100"}, traces=True) as one:
        yield one


@pytest.fixture(scope="module")
def told(running: Stack) -> Told:
    """A load that a module's tests are about."""
    return tell(running)


@pytest.fixture(scope="session")
def piped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Pipe, None, None]:
    """A collector alone, keeping every trace."""
    with pipe(tmp_path_factory.mktemp("pipe"), {"SPANHOOK_SAMPLING_PERCENT": "100"}) as one:
        yield one


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    """Where tests tell what a fault has cost."""
    return pytestconfig.stash.setdefault(_FIGURES, Figures())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker's figures go to the process that prints them."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["figures"] = session.config.stash.get(_FIGURES, Figures()).rows


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the figures of a worker that has ended; one that has crashed has none."""
    figures = node.config.stash.setdefault(_FIGURES, Figures())
    figures.rows += map(tuple, getattr(node, "workeroutput", {}).get("figures", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures, whether tests passed or not."""
    lines = terminalreporter.config.stash.get(_FIGURES, Figures()).lines()
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.line(line)
