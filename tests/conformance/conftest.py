"""What the matrices need of libraries that are not in every environment."""

import pytest

from tests.authorities import authority as authority
from tests.here import is_here


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LiteLLM's own code causes warnings, and leaves connections open; as errors, these would change what it does."""
    if not is_here("litellm"):
        return
    for item in items:
        for what in ("UserWarning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning"):
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))
