"""Leaves these tests out where the instrumentations are not installed: CI has an environment for them."""

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("logfire") and find_spec("openinference") else ["test_*.py"]


@pytest.fixture(scope="module")
def servers() -> Iterator[Any]:
    """The server of each provider, by its class."""
    from tests.foreign.programs import PROGRAMS

    with ExitStack() as stack:
        yield {made: stack.enter_context(made()) for made in {one.server for one in PROGRAMS.values()}}
