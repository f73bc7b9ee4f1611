"""Agent Framework's tests, with the warnings of the library's own code left as warnings."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The library marks what may change with warnings; as errors, these would change what it does."""
    for item in items:
        if item.path.is_relative_to(HERE):
            for what in ("UserWarning", "FutureWarning", "DeprecationWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))
