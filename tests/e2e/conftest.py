"""Fixtures: the stack, once for all tests that only read."""

from collections.abc import Generator

import pytest

from tests.e2e.stack import Pipe, Stack, pipe, stack


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack, None, None]:
    """The whole pipeline, keeping every trace."""
    with stack(tmp_path_factory.mktemp("stack"), {"SPANHOOK_SAMPLING_PERCENT": "100"}, traces=True) as one:
        yield one


@pytest.fixture(scope="session")
def piped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Pipe, None, None]:
    """A collector alone, keeping every trace."""
    with pipe(tmp_path_factory.mktemp("pipe"), {"SPANHOOK_SAMPLING_PERCENT": "100"}) as one:
        yield one
