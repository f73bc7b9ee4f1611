"""Fixtures that the tests of several libraries share; tests of libraries that are not here are left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.instrument import INSTRUMENTORS
from tests.here import BOUND, is_here
from tests.request_fields.checking import is_newest

_ABSENT = INSTRUMENTORS.keys() - {*BOUND}
collect_ignore = [
    str(path) for library in _ABSENT for path in Path(__file__).parent.glob(f"*{library}*") if path.stem != "__init__"
]
"""Each library has an environment of its own in CI, where all of its tests run."""
if not is_here("langchain_anthropic"):
    collect_ignore.append(str(Path(__file__).with_name("test_anthropic_within_langchain.py")))
_PACKAGES = {"google_genai": "google-genai"}
collect_ignore += [
    str(path)
    for library in BOUND
    if not is_newest(_PACKAGES.get(library, library))
    for pattern in (f"{library}/test_request_fields.py", f"test_{library}_request_fields.py")
    for path in Path(__file__).parent.glob(pattern)
]
"""Fields of requests are listed for the newest versions of the SDKs, whose tests CI runs too."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is to be ignored, although it is named on the command line."""
    left = [item for item in items if str(item.path) in collect_ignore]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running
