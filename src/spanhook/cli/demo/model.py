"""A chat model that needs no key: it follows a script and reports usage as a provider would."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

Script = Callable[[Sequence[BaseMessage]], AIMessage]
"""Chooses the next answer from the messages so far."""

SECONDS_PER_CALL = 0.04
SECONDS_PER_CHUNK = 0.003
TOKENS_OF_INSTRUCTIONS = 1180
CACHED_TOKENS = 1024


class ScriptedModel(BaseChatModel):
    """Answers from a script, after a short delay.

    Attributes:
        model_name: A model with a known price.
        script: Chooses its answers.
    """

    model_name: str
    script: Script

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "openai", "ls_model_name": self.model_name, "ls_model_type": "chat"}

    @override
    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        time.sleep(SECONDS_PER_CALL)
        said = self.script(messages)
        answer = said.model_copy(
            update={
                "usage_metadata": usage(messages, said),
                "response_metadata": {
                    "model_name": self.model_name,
                    "finish_reason": "tool_calls" if said.tool_calls else "stop",
                },
            }
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._generate(messages).generations[0].message
        assert isinstance(whole, AIMessage)
        for word in str(whole.content).split(" ") if whole.content else []:
            time.sleep(SECONDS_PER_CHUNK)
            yield _told(AIMessageChunk(content=f"{word} "), run_manager)
        last = AIMessageChunk(
            content="",
            tool_calls=whole.tool_calls,
            usage_metadata=whole.usage_metadata,
            response_metadata=whole.response_metadata,
            chunk_position="last",
        )
        yield _told(last, run_manager)


def _told(message: AIMessageChunk, run_manager: CallbackManagerForLLMRun | None) -> ChatGenerationChunk:
    chunk = ChatGenerationChunk(message=message)
    if run_manager is not None:
        run_manager.on_llm_new_token(str(message.content), chunk=chunk)
    return chunk


def usage(messages: Sequence[BaseMessage], said: AIMessage) -> UsageMetadata:
    """Usage at four characters per token; from a conversation's second call on, the instructions are read from the
    cache.
    """
    asked = TOKENS_OF_INSTRUCTIONS + sum(len(str(message.content)) for message in messages) // 4
    answered = 12 + len(str(said.content)) // 4 + 20 * len(said.tool_calls)
    went_on = any(isinstance(message, AIMessage | ToolMessage) for message in messages)
    return UsageMetadata(
        input_tokens=asked,
        output_tokens=answered,
        total_tokens=asked + answered,
        input_token_details=InputTokenDetails(cache_read=CACHED_TOKENS if went_on else 0),
    )
