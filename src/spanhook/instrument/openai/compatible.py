"""Providers that use OpenAI's protocol without being OpenAI: their calls get no ``openai.`` attributes.

The conventions reserve these names for OpenAI itself, on its own servers and on Azure's.
"""

from dataclasses import replace
from typing import Any

from spanhook.instrument.openai.servers import AZURE, DEFAULT
from spanhook.model import Adapter, Args, Attributes, Body, Chunks, Kwargs, Usage

ITSELF = frozenset((DEFAULT, AZURE))
Told = tuple[Attributes, Usage | None]


def compatible(adapter: Adapter) -> Adapter:
    """An adapter for the same call to another provider."""
    start, response, failure, chunks, body = (
        adapter.start,
        adapter.response,
        adapter.failure,
        adapter.chunks,
        adapter.body,
    )

    def others_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
        found = start(instance, args, kwargs)
        return None if found is None else _others(found)

    def others_response(result: Any) -> Told:
        return _told(response(result))

    def others_failure(instance: Any, args: Args, kwargs: Kwargs, error: BaseException) -> Told:
        assert failure is not None
        return _told(failure(instance, args, kwargs, error))

    def others_chunks(instance: Any, args: Args, kwargs: Kwargs) -> Any:
        assert chunks is not None
        return OthersChunks(chunks(instance, args, kwargs))

    def others_body(instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Body | None:
        assert body is not None
        found = body(instance, args, kwargs, result)
        more: Any = None if found is None else OthersChunks(found.chunks)
        return None if found is None else replace(found, chunks=more)

    return replace(
        adapter,
        start=others_start,
        response=others_response,
        failure=others_failure if failure is not None else None,
        chunks=others_chunks if chunks is not None else None,
        body=others_body if body is not None else None,
    )


class OthersChunks:
    """Adds up the chunks of another provider's stream."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def add(self, chunk: Any) -> bool:
        return self._chunks.add(chunk)

    @property
    def keep(self) -> bool:
        return self._chunks.keep

    @keep.setter
    def keep(self, value: bool) -> None:
        self._chunks.keep = value

    @property
    def complete(self) -> bool:
        return self._chunks.complete

    def response(self) -> Told:
        return _told(self._chunks.response())

    def result(self) -> Any:
        return self._chunks.result()


def _told(told: Told) -> Told:
    return _others(told[0]), told[1]


def _others(attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if not name.startswith("openai.")}
