"""The SDK without its export of traces."""

from collections.abc import Iterator

import pytest
from agents import set_trace_processors


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    """No trace is sent to OpenAI, which is what the SDK does by itself."""
    set_trace_processors([])
    yield
    set_trace_processors([])
