"""Answers of hooks, announced to callbacks by LangChain's own code, as it announces those from its cache.

That code runs on a stand-in for the model, tool or retriever, whose body gives the answer. So starts, ends, ids, names,
tags and metadata are what they would have been, and what a callback raises has the effect that it would have had.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import ismethod
from itertools import count
from typing import Any, ClassVar

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import BaseLLM
from langchain_core.outputs import ChatGenerationChunk, ChatResult, GenerationChunk, LLMResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from spanhook.instrument.langchain_core.answers import as_chunk, as_events, as_new, generations_of, id_in
from spanhook.instrument.originals import original
from spanhook.model import Args, Kwargs

_DESCRIBING = frozenset(
    (
        *("_get_invocation_params", "_get_ls_params", "_get_ls_params_with_defaults", "_dict_for_compat", "dict"),
        *("_combine_llm_outputs", "_convert_input", "_filter_injected_args", "get_name"),
        *("_should_stream", "_should_use_protocol_streaming"),
    )
)
"""Methods that only describe an object or its input, and may be asked of the object itself."""


class StandIn:
    """Stands in for an object of LangChain while its base class makes a call with a given result.

    What leads to the object's body is the base class's code, whatever subclasses override, and runs on the stand-in:
    nothing can make the call after all.

    Args:
        instance: The object.
        result: The result.
        is_async: Whether the call is async.
    """

    base: ClassVar[type]
    runs: ClassVar[frozenset[str]]

    def __init__(self, instance: Any, result: Any, is_async: bool) -> None:
        self.instance, self.result, self.is_async = instance, result, is_async

    def __getattr__(self, name: str) -> Any:
        if name in ("instance", "runs"):  # of an object that is being copied
            raise AttributeError(name)
        if name in self.runs:
            return original(self.base, name).__get__(self)
        found = getattr(self.instance, name)
        if ismethod(found) and name not in _DESCRIBING:
            raise AttributeError(f"{name} of {self.base.__name__} is not known, and may lead to the body")
        return found


_MODEL = frozenset(
    ("invoke", "ainvoke", "generate_prompt", "agenerate_prompt", "generate", "agenerate", "stream", "astream")
)


# ----------------------------------------------------------------------------------------------- models


class Chat(StandIn):
    """A chat model."""

    base = BaseChatModel
    runs = _MODEL | {"_iter_v2_events", "_aiter_v2_events"}
    rate_limiter = None

    def __init__(self, instance: Any, result: Any, is_async: bool) -> None:
        super().__init__(instance, result, is_async)
        self._prompts = count()

    def _generate_with_cache(self, _messages: Any, **kwargs: Any) -> ChatResult:
        result, events = self._next(kwargs)
        for event in events:
            kwargs["run_manager"].on_stream_event(event)
        return result

    async def _agenerate_with_cache(self, _messages: Any, **kwargs: Any) -> ChatResult:
        result, events = self._next(kwargs)
        for event in events:
            await kwargs["run_manager"].on_stream_event(event)
        return result

    def _next(self, kwargs: Kwargs) -> tuple[ChatResult, Iterator[Any]]:
        """The answer to the next prompt, and its version 3 events, if a handler asks for these."""
        generations = generations_of(self.result, next(self._prompts))
        asks = getattr(self.instance, "_should_use_protocol_streaming", None)
        is_streamed = asks is not None and asks(async_api=self.is_async, **kwargs)
        for index, generation in enumerate(generations):
            as_new(generation.message, _id(kwargs, index, is_streamed=is_streamed))
        events = as_events(generations[0].message) if is_streamed else iter(())
        return ChatResult(generations=generations), events

    def _stream(self, _messages: Any, **_kwargs: Any) -> Iterator[ChatGenerationChunk]:
        generation = generations_of(self.result, 0)[0]
        as_new(generation.message, None)
        yield ChatGenerationChunk(message=as_chunk(generation.message), generation_info=generation.generation_info)

    async def _astream(self, _messages: Any, **_kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(_messages):
            yield chunk

    def _stream_chat_model_events(self, _messages: Any, **kwargs: Any) -> Iterator[Any]:
        generation = generations_of(self.result, 0)[0]
        as_new(generation.message, _id(kwargs, 0, is_streamed=True))
        return as_events(generation.message)

    async def _astream_chat_model_events(self, _messages: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for event in self._stream_chat_model_events(_messages, **kwargs):
            yield event


def _id(kwargs: Kwargs, index: int, *, is_streamed: bool) -> str | None:
    manager = kwargs.get("run_manager")
    if manager is None:
        return None
    return id_in(manager.run_id) if is_streamed and not index else f"{id_in(manager.run_id)}-{index}"


class Text(StandIn):
    """A text model that cannot stream."""

    base = BaseLLM
    runs = _MODEL | {"_generate_helper", "_agenerate_helper"}
    cache = False
    _stream, _astream = BaseLLM._stream, BaseLLM._astream

    def _generate(self, prompts: list[str], **_kwargs: Any) -> LLMResult:
        return LLMResult(generations=[generations_of(self.result, index) for index in range(len(prompts))])

    async def _agenerate(self, prompts: list[str], **_kwargs: Any) -> LLMResult:
        return self._generate(prompts)


class StreamingText(Text):
    """A text model that can stream, and therefore tells callbacks of its tokens itself."""

    def _stream(self, _prompt: str, *, run_manager: Any, **_kwargs: Any) -> Iterator[GenerationChunk]:
        chunk = self._chunk()
        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
        yield chunk

    async def _astream(self, _prompt: str, *, run_manager: Any, **_kwargs: Any) -> AsyncIterator[GenerationChunk]:
        chunk = self._chunk()
        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
        yield chunk

    def _chunk(self) -> GenerationChunk:
        generation = generations_of(self.result, 0)[0]
        return GenerationChunk(text=generation.text, generation_info=generation.generation_info)


def _text(instance: Any, result: Any, is_async: bool) -> Text:
    kind = type(instance)
    streams = kind._stream is not BaseLLM._stream or (is_async and kind._astream is not BaseLLM._astream)
    return (StreamingText if streams else Text)(instance, result, is_async)


# ----------------------------------------------------------------------------------------------- tools, retrievers


class Tool(StandIn):
    """A tool. Its result is what it would have returned, a message if it was called with a tool call."""

    base = BaseTool
    runs = frozenset(("invoke", "ainvoke", "run", "arun"))
    response_format = "content"

    def _to_args_and_kwargs(self, *_given: Any) -> tuple[tuple[()], dict[str, Any]]:
        return (), {}

    def _run(self) -> Any:
        return self.result

    async def _arun(self) -> Any:
        return self.result


class Retriever(StandIn):
    """A retriever."""

    base = BaseRetriever
    runs = frozenset(("invoke", "ainvoke"))
    _new_arg_supported = _expects_other_args = False

    def _get_relevant_documents(self, _query: str) -> list[Document]:
        return self.result

    async def _aget_relevant_documents(self, _query: str) -> list[Document]:
        return self.result


# ----------------------------------------------------------------------------------------------- calls

Announce = Callable[[Any, Args, Kwargs, Any, bool], Any]


def _announce(stands_in: Callable[[Any, Any, bool], StandIn], name: str, aname: str, takes: int | None) -> Announce:
    def announce(instance: Any, args: Args, kwargs: Kwargs, result: Any, is_async: bool) -> Any:
        if is_async and not has_loop():
            return None
        call = getattr(stands_in(instance, result, is_async), aname if is_async else name)
        return call(*args[:takes], **kwargs)

    return announce


def has_loop() -> bool:
    """Whether asyncio runs this code: LangChain tells callbacks by no other loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_INPUT = 2
"""How many arguments all ``invoke`` methods have by position: input and configuration."""

CHAT_GENERATE = _announce(Chat, "generate", "agenerate", None)
CHAT_STREAM = _announce(Chat, "stream", "astream", _INPUT)
CHAT_EVENTS = _announce(Chat, "_iter_v2_events", "_aiter_v2_events", None)
CHAT_INVOKE = _announce(Chat, "invoke", "ainvoke", _INPUT)
TEXT_GENERATE = _announce(_text, "generate", "agenerate", None)
TEXT_STREAM = _announce(_text, "stream", "astream", _INPUT)
TEXT_INVOKE = _announce(_text, "invoke", "ainvoke", _INPUT)
TOOL_RUN = _announce(Tool, "run", "arun", None)
TOOL_INVOKE = _announce(Tool, "invoke", "ainvoke", _INPUT)
RETRIEVER_INVOKE = _announce(Retriever, "invoke", "ainvoke", _INPUT)
