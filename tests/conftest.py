"""Shared fixtures: every test starts and ends uninstrumented, and errors of spanhook's own code are errors."""

import functools
import gc
import sys
from collections.abc import Iterator
from importlib import metadata

import pytest

import spanhook
from spanhook.errors import internal
from spanhook.finishing import reaper


def pytest_sessionfinish() -> None:
    """What comes now may ask the collector who refers to something: Hypothesis does, when it is imported."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def versions() -> Iterator[None]:
    """Versions are looked up once, not six times a test; what is installed may only change with ``sys.path``."""
    look_up = metadata.version

    @functools.cache
    def known(name: str, _path: tuple[str, ...]) -> str:
        return look_up(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "version", lambda name: known(name, tuple(sys.path)))
        yield


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """What is there by now is there for good: collecting garbage, as many tests do, need not look at it again."""
    gc.collect()
    gc.freeze()


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
