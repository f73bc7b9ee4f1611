"""What tests of LiteLLM's agents look at."""

from typing import Any

from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import Recorder


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return sorted((span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans)


def told(server: OpenAIServer) -> Any:
    """What the model was told of its tool."""
    return server.requests[-1].body["messages"][-1]["content"]
