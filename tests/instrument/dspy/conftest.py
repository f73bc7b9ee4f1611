"""DSPy's tests, with the warnings of libraries below it left as warnings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import spanhook
from spanhook import Hooks

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LiteLLM's and DSPy's own code causes warnings; as errors, these would change what it does."""
    for item in items:
        if item.path.is_relative_to(HERE):
            for what in ("UserWarning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()
