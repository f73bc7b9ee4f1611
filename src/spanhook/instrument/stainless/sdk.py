"""The classes of one generated client: they have the same names, in modules of the same names, in all such packages."""

import copy
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanhook.concurrency import drive
from spanhook.model import copied, copied_model, copies


class Sdk:
    """What is known of one package.

    Args:
        library: The name it is imported by; it is imported.

    Attributes:
        raw: What ``with_raw_response`` and ``with_streaming_response`` give the caller.
        model: The base of what answers are parsed into.
        construct: Makes one of them, of JSON that may lack fields.
        chunk_type: What a class of streams yields.
        decoder: Reads server-sent events.

    Raises:
        ImportError, AttributeError: It is still being imported.
    """

    def __init__(self, library: str) -> None:
        client, models, response, streaming = (
            import_module(f"{library}.{name}") for name in ("_base_client", "_models", "_response", "_streaming")
        )
        legacy = f"{library}._legacy_response"  # what raw responses of older generators are, where there is such a one
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
        """Whether a result is a stream, or a raw response that is still to be read."""
        if isinstance(result, self._stream):
            return "sync"
        if isinstance(result, self._async_stream):
            return "async"
        if isinstance(result, self.raw) and not result.http_response.is_closed:  # pyright: ignore[reportAttributeAccessIssue]
            return "async" if isinstance(result._client, self._async_client) else "sync"  # pyright: ignore[reportAttributeAccessIssue]
        return ""

    def result_of(self, result: Any) -> Any:
        """A result as a model or dict; of a raw response what it parses into, or its JSON.

        A raw response keeps what it has parsed, so the application's own ``parse`` costs nothing more. ``None`` where
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
                    parsed = drive(parsed)  # the body has been read, so there is nothing to wait for
            except Exception:
                parsed = None  # a parser of the application's refuses what the model said; it will say so itself
            if isinstance(parsed, self.model) or type(parsed) is dict:
                return parsed
        try:
            return response.json()
        except Exception:
            return None


def _copied_raw(raw: Any) -> Any:
    """A raw response with models of its own; the HTTP response in it is the application's."""
    twin = copy.copy(raw)
    twin._parsed_by_type = copied(raw._parsed_by_type)
    return twin
