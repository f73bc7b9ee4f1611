"""LiteLLM's own types for answers that no server gave: results, chunks and streams."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import openai
import pydantic
from litellm.litellm_core_utils.litellm_logging import Logging
from litellm.litellm_core_utils.streaming_handler import CustomStreamWrapper
from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.llms.openai import ResponsesAPIResponse
from litellm.types.utils import (
    EmbeddingResponse,
    ImageResponse,
    ModelResponse,
    ModelResponseStream,
    TextCompletionResponse,
    TranscriptionResponse,
)
from litellm.utils import TextCompletionStreamWrapper

from spanhook.instrument.litellm.chunks import closed, closed_event, opened, opened_event
from spanhook.instrument.wire import Fields, Payload
from spanhook.model import copied_model, copies, copies_models, exact_text

# Results and chunks are models of OpenAI's SDK or of LiteLLM itself, and so is what they consist of.
copies(openai.BaseModel)(copied_model)
copies_models(pydantic.BaseModel, "litellm")

Stream = Callable[[Iterator[Any], Fields], Any]
"""Makes a stream, sync and async, given its chunks and the request."""


@dataclass(frozen=True)
class Answers:
    """The types of one API's results.

    Attributes:
        whole: Makes a result from JSON.
        kinds: The types of results.
        chunk: Makes a chunk from JSON.
        wrap: Makes a stream.
        opened, closed: As in ``Transport``.
    """

    whole: Callable[[Payload], Any]
    kinds: tuple[type, ...]
    chunk: Callable[[Payload], Any] = dict
    wrap: Stream | None = None
    opened: Callable[[Any], Any] | None = None
    closed: Callable[[Any, Any], Any] | None = None

    def stream(self, chunks: Iterator[Any], body: Fields, *, is_async: bool) -> Any:
        """What a streamed call returns."""
        if self.wrap is not None:
            return self.wrap(chunks, body)
        return _later(chunks) if is_async else chunks


async def _later(chunks: Iterator[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


class _Passing:
    """Steps of a stream whose chunks are passed on as they are."""

    completion_stream: Any

    def __next__(self) -> Any:
        return next(self.completion_stream)

    async def __anext__(self) -> Any:
        for chunk in self.completion_stream:
            return chunk
        raise StopAsyncIteration


class _Answered(_Passing, CustomStreamWrapper):
    """An answer as a stream, which LiteLLM's callbacks are not told of."""

    def __init__(self, chunks: Iterator[Any], body: Fields) -> None:
        model = exact_text(body.get("model"))
        logging = Logging(
            model=model,
            messages=body.get("messages") or [],
            stream=True,
            call_type="completion",
            start_time=datetime.now(),  # noqa: DTZ005 - as LiteLLM has it
            litellm_call_id=str(uuid4()),
            function_id="",
        )
        CustomStreamWrapper.__init__(self, chunks, model, logging, "cached_response", body.get("stream_options"))


class _AnsweredText(_Passing, TextCompletionStreamWrapper):
    def __init__(self, chunks: Iterator[Any], body: Fields) -> None:
        TextCompletionStreamWrapper.__init__(self, chunks, exact_text(body.get("model")))


def _chat(payload: Payload) -> ModelResponse:
    return ModelResponse(**{name: value for name, value in payload.items() if value is not None})


def _text(payload: Payload) -> TextCompletionResponse:
    return TextCompletionResponse(**payload)


def _chunk(payload: Payload) -> ModelResponseStream:
    return ModelResponseStream(**payload)


def _event(payload: Payload) -> Any:
    """An event of a response, in its own class if LiteLLM has one."""
    with suppress(Exception):
        return OpenAIResponsesAPIConfig.get_event_model_class(payload["type"])(**payload)
    return OpenAIResponsesAPIConfig.get_event_model_class("unknown").model_construct(**payload)


def _event_bytes(payload: Payload) -> bytes:
    """An event of Anthropic's, as LiteLLM passes it on."""
    return f"event: {payload.get('type')}\ndata: {json.dumps(payload)}\n\n".encode()


def _response(payload: Payload) -> ResponsesAPIResponse:
    return ResponsesAPIResponse.model_construct(**payload)


CHAT = Answers(_chat, (ModelResponse,), _chunk, _Answered, opened, closed)
TEXT = Answers(_text, (TextCompletionResponse,), _text, _AnsweredText, opened, closed)
EMBEDDINGS = Answers(lambda told: EmbeddingResponse(**told), (EmbeddingResponse,))
RESPONSES = Answers(_response, (ResponsesAPIResponse,), _event, None, opened_event, closed_event)
IMAGES = Answers(lambda told: ImageResponse(**told), (ImageResponse,))
TRANSCRIPTION = Answers(lambda told: TranscriptionResponse(**told), (TranscriptionResponse,))
MESSAGES = Answers(dict, (dict,), _event_bytes)
PLAIN = Answers(dict, (dict,))
