"""Leaves out the tests of what an older version of the SDK does not have, and its export of traces."""

from collections.abc import Iterator

import pytest
from agents import set_trace_processors
from agents.models import openai_responses

collect_ignore = [] if hasattr(openai_responses, "OpenAIResponsesWSModel") else ["test_websockets.py"]


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    """No trace is sent to OpenAI, which is what the SDK does by itself."""
    set_trace_processors([])
    yield
    set_trace_processors([])
