"""An agent of LlamaIndex, without a network: its model answers at once."""

from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

_agents: Any = import_module("llama_index.core.agent.workflow")  # not in the environment that types are checked in
_calling: Any = import_module("llama_index.core.llms.function_calling")
_callbacks: Any = import_module("llama_index.core.llms.callbacks")
_llm: Any = import_module("llama_index.core.llms.llm")
_types: Any = import_module("llama_index.core.base.llms.types")
ChatMessage: Any = _types.ChatMessage
_USED = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
_chat = _callbacks.llm_chat_callback()


class Lines(_calling.FunctionCallingLLM):  # pyright: ignore[reportUntypedBaseClass]
    """Calls the tool twice, then answers."""

    model: str = "lines"

    @property
    def metadata(self) -> Any:
        return _types.LLMMetadata(model_name="lines", is_chat_model=True, is_function_calling_model=True)

    @_chat
    async def achat(self, messages: Any, **_given: Any) -> Any:
        return _reply(messages)

    @_chat
    def chat(self, messages: Any, **_given: Any) -> Any:
        return _reply(messages)

    @_chat
    def stream_chat(self, messages: Any, **_given: Any) -> Any:
        return iter((_reply(messages),))

    @_chat
    async def astream_chat(self, messages: Any, **_given: Any) -> Any:
        async def chunks() -> Any:
            yield _reply(messages)

        return chunks()

    def complete(self, prompt: str, formatted: bool = False, **_given: Any) -> Any:
        raise NotImplementedError

    acomplete = stream_complete = astream_complete = complete

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **_given: Any) -> dict[str, Any]:
        return {"messages": list(chat_history or ()), "tools": [one.metadata.to_openai_tool() for one in tools]}

    def get_tool_calls_from_response(self, response: Any, **_given: Any) -> list[Any]:
        return [
            _llm.ToolSelection(tool_id=one.tool_call_id, tool_name=one.tool_name, tool_kwargs=one.tool_kwargs)
            for one in response.message.blocks
            if isinstance(one, _types.ToolCallBlock)
        ]


def _reply(messages: Any) -> Any:
    if sum(message.role == "tool" for message in messages) == 2:
        said: dict[str, Any] = {"content": "All done."}
    else:
        said = {"blocks": [_types.ToolCallBlock(tool_call_id="call_1", tool_name="add", tool_kwargs={"a": 1, "b": 2})]}
    message = ChatMessage(role="assistant", **said)
    return _types.ChatResponse(message=message, delta=message.content or "", additional_kwargs=dict(_USED))


def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = _agents.FunctionAgent(name="helper", tools=[add], llm=Lines())

    async def operation() -> None:
        assert str(await agent.run(user_msg="hi")) == "All done."

    return operation
