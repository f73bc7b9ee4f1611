"""Fixtures: the engine, with the images of the compose file."""

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.compose.engine import Engine, is_possible, running
from tests.compose.images import store


@pytest.fixture(scope="session")
def engine() -> Generator[Engine, None, None]:
    """Podman, for all tests: each leaves it as it has found it."""
    is_possible()
    images = store()
    with running(Path(tempfile.mkdtemp(prefix="podman")), images) as one:
        yield one


@pytest.fixture(autouse=True)
def emptied(engine: Engine) -> Generator[None, None, None]:
    """Nothing of a test is left to the next one."""
    yield
    engine.podman("rm", "--all", "--force", "--time", "0")
    engine.podman("volume", "rm", "--all", "--force")
