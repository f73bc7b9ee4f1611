"""Hooks for the tests of fast-agent, and the warnings of libraries below it left as warnings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import spanhook
from spanhook import Hooks

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The library's own code causes warnings; as errors, these would change what it does."""
    for item in items:
        if item.path.is_relative_to(HERE):
            for what in ("UserWarning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library keeps sessions in the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()
