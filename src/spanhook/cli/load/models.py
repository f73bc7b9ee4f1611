"""Chat models that answer, stream, fail and hang as a script says."""

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from typing_extensions import override

from spanhook.cli.load.catalogue import MODELS
from spanhook.cli.load.facts import Tokens
from spanhook.cli.load.steps import JUDGE, Ask


class RateLimitError(Exception):
    """A provider's answer to too many requests."""


to_cancel: ContextVar["asyncio.Task[Any] | None"] = ContextVar("spanhook.cli.load.to_cancel", default=None)
"""The task of a run that will be cancelled during a model call."""


class Scripted(BaseChatModel):
    """Answers as the step given as ``reply`` says."""

    model_name: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": MODELS[self.model_name].provider, "ls_model_type": "chat"}

    @override
    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        reply: Ask = kwargs["reply"]
        if reply.how == "fail":
            raise RateLimitError("too many requests")
        answer = AIMessage(
            content="so be it", usage_metadata=_metadata(reply.tokens), response_metadata=self._about("stop")
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

    @override
    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        task = to_cancel.get()
        if kwargs["reply"].how == "hang" and task is not None:
            task.cancel()
            await asyncio.Event().wait()
        return self._generate(messages, **kwargs)

    @override
    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply: Ask = kwargs["reply"]
        yield _chunk("so ", reply.tokens.unanswered, self._about())
        if reply.how == "break":
            raise RateLimitError("too many tokens")
        yield _chunk("be it", Tokens(output=reply.tokens.output, reasoning=reply.tokens.reasoning), {}, last=True)

    def _about(self, reason: str = "") -> dict[str, Any]:
        told = {"model_name": MODELS[self.model_name].answers_as}
        return {**told, "finish_reason": reason} if reason else told


class ScriptedOpenAI(Scripted):
    """Each provider has its own class, as in real applications."""


class ScriptedAnthropic(Scripted):
    """Each provider has its own class, as in real applications."""


class ScriptedHouse(Scripted):
    """Each provider has its own class, as in real applications."""


_CLASSES = {"openai": ScriptedOpenAI, "anthropic": ScriptedAnthropic, "house": ScriptedHouse}
OBJECTS = {name: _CLASSES[model.provider](model_name=name) for name, model in MODELS.items()}


def _metadata(tokens: Tokens) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=tokens.prompt,
        output_tokens=tokens.completion,
        total_tokens=tokens.total,
        input_token_details=InputTokenDetails(cache_read=tokens.cache_read, cache_creation=tokens.cache_write),
        output_token_details=OutputTokenDetails(reasoning=tokens.reasoning),
    )


def _chunk(text: str, tokens: Tokens, about: dict[str, Any], *, last: bool = False) -> ChatGenerationChunk:
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content=text,
            usage_metadata=_metadata(tokens),
            response_metadata=about,
            chunk_position="last" if last else None,
        )
    )


def judge() -> None:
    """Call the model that a hook uses."""
    OBJECTS[JUDGE.model].invoke("may this be published?", reply=JUDGE)
