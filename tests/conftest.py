"""Shared fixtures: every test starts and ends uninstrumented, and errors of spanhook's own code are errors."""

from collections.abc import Iterator

import pytest

import spanhook
from spanhook.errors import internal
from spanhook.finishing import reaper


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    internal.fatal = True
    yield
    reaper.drain()
    spanhook.uninstrument()
    internal.fatal = False


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
