"""What the matrices need of libraries that are not in every environment."""

import gc
import warnings
from collections.abc import Iterator

import pytest

from spanhook.cli.conformance.servers.authorities import one_authority
from tests.here import is_here


@pytest.fixture(scope="package", autouse=True)
def _authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in one_authority(tmp_path_factory.mktemp("authority")).items():
            patch.setenv(name, value)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LiteLLM's own code causes warnings, and leaves connections open; as errors, these would change what it does."""
    if not is_here("litellm"):
        return
    for item in items:
        for what in ("UserWarning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning"):
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))


def pytest_sessionfinish() -> None:
    """Let go of LiteLLM's open connections here: pytest collects the last ones when no test ignores warnings."""
    if is_here("litellm"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(5):  # as pytest does: finalizers make garbage, too
                gc.collect()
