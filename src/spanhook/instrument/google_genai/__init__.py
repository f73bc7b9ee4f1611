"""Google's Gen AI SDK, for the Gemini API and Vertex AI: its API client, and the functions that it runs for a model.

Chats, and loops that run functions, end in the API client's methods, once for each request.
"""

from dataclasses import replace

from spanhook.instrument import speakeasy, stainless
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point, Signal

_HERE = "spanhook.instrument.google_genai"


def _request(name: str, mode: str) -> Point:
    return Point(
        module="google.genai._api_client",
        name=f"BaseApiClient.{name}",
        adapter=f"{_HERE}.apis:CONTENT",
        choose=f"{_HERE}.apis:choose",
        mode=mode,
        overrides=True,
    )


def _function(name: str, mode: str) -> Point:
    return Point(module="google.genai._extra_utils", name=name, adapter=f"{_HERE}.tools:FUNCTION", mode=mode)


_INTERACTIONS = speakeasy.points_of(
    "google.genai._gaos.basesdk",
    f"{_HERE}.interactions:INTERACTIONS",
    f"{_HERE}.interactions:choose",
    later="AsyncBaseSDK",
)
_EARLIER = stainless.points_of(
    "google.genai._interactions", f"{_HERE}.interactions:INTERACTIONS", f"{_HERE}.earlier:choose"
)


class GoogleGenAIInstrumentor(Instrumentor):
    """Points of ``google.genai``."""

    library = "google_genai"
    kinds = frozenset(("llm.call", "embeddings.create", "tool.execute"))
    table = (
        _request("request", "sync"),
        _request("async_request", "async"),
        _request("request_streamed", "stream"),
        _request("async_request_streamed", "async"),
        _function("invoke_function_from_dict_args", "sync"),
        _function("invoke_function_from_dict_args_async", "async"),
        Point(
            module="google.genai._adapters",
            name="McpToGenAiToolAdapter.call_tool",
            adapter=f"{_HERE}.tools:OF_MCP",
            mode="async",
        ),
        *(replace(point, optional=True) for point in (*_INTERACTIONS, *_EARLIER)),
        Signal(
            module="google.genai._interactions_continuation",
            name="StreamContinuation.end_hop",
            before=f"{_HERE}.interactions:not_continued",
            optional=True,
        ),
        Signal(
            module="google.genai._extra_utils",
            name="StreamContinuation.end_hop",
            before=f"{_HERE}.transport:not_continued",
            optional=True,  # from version 3 on
        ),
    )
