"""Fixtures that the tests of several libraries share; tests of libraries that are not here are left out."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.instrument import INSTRUMENTORS


def _is_here(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None
    except ImportError:  # of the package around it
        return False


_ABSENT = [one.library for one in INSTRUMENTORS.values() if not _is_here(one.module)]
collect_ignore = [
    str(path) for library in _ABSENT for path in Path(__file__).parent.glob(f"*{library}*") if path.stem != "__init__"
]
"""Each library has an environment of its own in CI, where all of its tests run."""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running
