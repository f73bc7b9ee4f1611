"""The Claude Agent SDK's tests, with the warnings of the library's own code left as warnings."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Transports of processes are collected after their loops are closed, with spanhook and without."""
    for item in items:
        if item.path.is_relative_to(HERE):
            for what in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))
