"""The classes of one generated client: all such packages have the same class and module names."""

import copy
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanhook.concurrency import drive
from spanhook.model import copied, copied_model, copies


class Sdk:
    """The classes of one package.

    Args:
        library: Its import name; it must be imported.

    Attributes:
        raw: What ``with_raw_response`` and ``with_streaming_response`` return.
        model: The base class of parsed answers.
        construct: Creates a model from JSON that may lack fields.
        chunk_type: Returns the type that a stream class yields.
        decoder: Reads server-sent events.

    Raises:
        ImportError, AttributeError: It is still being imported.
    """

    def __init__(self, library: str) -> None:
        client, models, response, streaming = (
            import_module(f"{library}.{name}") for name in ("_base_client", "_models", "_response", "_streaming")
        )
        legacy = f"{library}._legacy_response"  # the raw responses of older generators, if the module exists
        self.raw: tuple[type, ...] = (response.BaseAPIResponse,)
        if find_spec(legacy) is not None:
            self.raw = (import_module(legacy).LegacyAPIResponse, *self.raw)
        self.model, self.construct = models.BaseModel, models.construct_type
        self.chunk_type = streaming.extract_stream_chunk_type
        self.decoder = streaming.SSEDecoder
        self._stream, self._async_stream = streaming.Stream, streaming.AsyncStream
        self._async_client = client.AsyncAPIClient
        copies(self.model)(copied_model)
        copies(*self.raw)(_copied_raw)

    def stream_of(self, result: Any) -> str:
        """Which kind of stream a result is, or an unread raw response; else empty."""
        if isinstance(result, self._stream):
            return "sync"
        if isinstance(result, self._async_stream):
            return "async"
        if isinstance(result, self.raw) and not result.http_response.is_closed:  # pyright: ignore[reportAttributeAccessIssue]
            return "async" if isinstance(result._client, self._async_client) else "sync"  # pyright: ignore[reportAttributeAccessIssue]
        return ""

    def result_of(self, result: Any) -> Any:
        """A result as a model or dict; for a raw response, its parsed content or JSON.

        A raw response caches what it has parsed, so the application's own ``parse`` costs nothing extra. ``None`` if
        there is nothing to read: a body that the application has not read stays unread.
        """
        if isinstance(result, self.model) or type(result) is dict:
            return result
        response = getattr(result, "http_response", result)
        if not getattr(response, "is_closed", False):
            return None
        if isinstance(result, self.raw):
            try:
                parsed = result.parse()  # pyright: ignore[reportAttributeAccessIssue]
                if hasattr(parsed, "__await__"):
                    parsed = drive(parsed)  # the body has been read, so it never waits
            except Exception:
                parsed = None  # the application's parser rejects the model's output, and will report that itself
            if isinstance(parsed, self.model) or type(parsed) is dict:
                return parsed
        try:
            return response.json()
        except Exception:
            return None


def _copied_raw(raw: Any) -> Any:
    """A copy of a raw response with copied models; the HTTP response in it is the application's."""
    twin = copy.copy(raw)
    twin._parsed_by_type = copied(raw._parsed_by_type)
    return twin
