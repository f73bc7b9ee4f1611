"""Models of LlamaIndex as an application makes them, which count: one that is asked with messages, and one that takes
prompts only.
"""

import asyncio
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.servers.openai_server import Reply, Tokens

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    _llms: Any = import_module("llama_index.core.llms")  # it is not in the environment that types are checked in
    _types: Any = import_module("llama_index.core.base.llms.types")
    _callbacks: Any = import_module("llama_index.core.llms.callbacks")
    _calling: Any = import_module("llama_index.core.llms.function_calling")
    _llm: Any = import_module("llama_index.core.llms.llm")
ChatMessage, ChatResponse, CompletionResponse = _types.ChatMessage, _types.ChatResponse, _types.CompletionResponse
ToolCallBlock = _types.ToolCallBlock
_chat, _completes = _callbacks.llm_chat_callback(), _callbacks.llm_completion_callback()

Call = tuple[str, dict[str, Any]]
Turn = str | Call | list[Call]
"""What a scripted model says: text, or tools and their arguments; empty to repeat what it was told last."""


class Own(_calling.FunctionCallingLLM):  # pyright: ignore[reportUntypedBaseClass]
    """A model of the application's own, in turns."""

    body: Any = None
    turns: Any = (Reply.text,)
    calls: int = 0
    model: str = "own"

    @property
    def metadata(self) -> Any:
        return _types.LLMMetadata(model_name="own", is_chat_model=True, is_function_calling_model=True)

    def _next(self, messages: Any) -> Any:
        used: dict[str, int] = {}
        if self.body is not None:
            tokens = Tokens()
            self.body.run([one.content for one in messages], tokens.total)
            used = {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}
        said = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        return ChatResponse(message=_message(_told(messages) if said == "" else said), additional_kwargs=used)

    def _pieces(self, messages: Any) -> Iterator[Any]:
        """The response in chunks, each of which is all of it so far."""
        whole = self._next(messages)
        text, so_far = whole.message.content or "", ""
        for piece in text.split(" ")[:-1]:
            so_far += f"{piece} "
            yield ChatResponse(message=_message(so_far), delta=f"{piece} ")
        whole.delta = text.removeprefix(so_far)
        yield whole

    @_chat
    def chat(self, messages: Any, **_given: Any) -> Any:
        return self._next(messages)

    @_chat
    async def achat(self, messages: Any, **_given: Any) -> Any:
        await asyncio.sleep(0)
        return self._next(messages)

    @_chat
    def stream_chat(self, messages: Any, **_given: Any) -> Any:
        return self._pieces(messages)

    @_chat
    async def astream_chat(self, messages: Any, **_given: Any) -> Any:
        async def pieces() -> Any:
            for one in self._pieces(messages):
                await asyncio.sleep(0)
                yield one

        return pieces()

    @_completes
    def complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        del formatted
        return _completion(self._next([ChatMessage(content=prompt)]))

    @_completes
    async def acomplete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        return self.complete(prompt, formatted=formatted)

    @_completes
    def stream_complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        del formatted
        return (_completion(one) for one in self._pieces([ChatMessage(content=prompt)]))

    @_completes
    async def astream_complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        del formatted

        async def pieces() -> Any:
            for one in self._pieces([ChatMessage(content=prompt)]):
                await asyncio.sleep(0)
                yield _completion(one)

        return pieces()

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_given: Any
    ) -> dict[str, Any]:
        asked = ChatMessage(content=user_msg) if isinstance(user_msg, str) else user_msg
        messages = [*(chat_history or ()), *(() if asked is None else (asked,))]
        return {"messages": messages, "tools": [one.metadata.to_openai_tool() for one in tools]}

    def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **_given: Any) -> Any:
        del error_on_no_tool_call
        return [
            _llm.ToolSelection(tool_id=one.tool_call_id, tool_name=one.tool_name, tool_kwargs=one.tool_kwargs)
            for one in response.message.blocks
            if isinstance(one, ToolCallBlock)
        ]


def _message(said: Turn) -> Any:
    if isinstance(said, str):
        return ChatMessage(role="assistant", content=said)
    calls = [said] if isinstance(said, tuple) else said
    blocks = [
        ToolCallBlock(tool_call_id=f"call_{place}", tool_name=name, tool_kwargs=arguments)
        for place, (name, arguments) in enumerate(calls)
    ]
    return ChatMessage(role="assistant", blocks=blocks)


def _told(messages: Any) -> str:
    """What the model was last told."""
    return str(messages[-1].content)


def _completion(response: Any) -> Any:
    used = response.additional_kwargs
    return CompletionResponse(text=response.message.content or "", delta=response.delta, additional_kwargs=used)


class Prompted(_llms.CustomLLM):  # pyright: ignore[reportUntypedBaseClass]
    """A model that takes prompts only, of which the library makes one of messages."""

    body: Any = None
    model: str = "own"

    @property
    def metadata(self) -> Any:
        return _types.LLMMetadata(model_name="own")

    def _next(self, prompt: str) -> Any:
        tokens = Tokens()
        self.body.run([prompt], tokens.total)
        used = {"prompt_tokens": tokens.input, "completion_tokens": tokens.output}
        return CompletionResponse(text=Reply.text, delta=Reply.text, additional_kwargs=used)

    @_completes
    def complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        del formatted
        return self._next(prompt)

    @_completes
    def stream_complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        del formatted
        return (self._next(one) for one in (prompt,))
