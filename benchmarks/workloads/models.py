"""A LangChain chat model that answers at once, and a tool."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from benchmarks.workloads import Operation
from benchmarks.workloads.wire import MODEL

PROMPT = [SystemMessage("You are a helpful assistant."), HumanMessage("What is six times seven?")]
_TOOLS = ("search", "calc")


class Scripted(BaseChatModel):
    """Answers from the messages alone: calls each of its tools once, then none."""

    model_name: str = MODEL
    temperature: float = 0.2
    fails: bool = False

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "openai", "ls_model_name": self.model_name, "ls_model_type": "chat"}

    @override
    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    @override
    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if self.fails:
            raise ConnectionError("the provider is down")
        answered = sum(type(message) is ToolMessage for message in messages)
        calls: list[Any] = []
        if kwargs.get("tools") and answered < len(_TOOLS):
            call = {"name": _TOOLS[answered], "args": {"query": "6*7"}, "id": f"call_{answered}", "type": "tool_call"}
            calls.append(call)
        reason = "tool_calls" if calls else "stop"
        message = AIMessage(
            content="" if calls else "The answer is 42 and here is a short explanation.",
            tool_calls=calls,
            usage_metadata=UsageMetadata(input_tokens=23, output_tokens=11, total_tokens=34),
            response_metadata={"model_name": MODEL, "id": "chatcmpl-1", "finish_reason": reason},
        )
        return ChatResult(generations=[ChatGeneration(message=message, generation_info={"finish_reason": reason})])

    @override
    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, stop, run_manager, **kwargs)

    @override
    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for index in range(10):
            if self.fails and index:
                raise ConnectionError("the connection was cut")
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"word {index} "))
        usage = UsageMetadata(input_tokens=23, output_tokens=20, total_tokens=43)
        last = AIMessageChunk(content="", usage_metadata=usage, response_metadata={"finish_reason": "stop"})
        yield ChatGenerationChunk(message=last)

    @override
    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, run_manager, **kwargs):
            yield chunk


@tool
def search(query: str) -> str:
    """Search the web for a query and return the top results."""
    return "result for " + query


@tool
def calc(query: str) -> str:
    """Evaluate an arithmetic expression."""
    return "42 = " + query


TOOLS: list[BaseTool] = [search, calc]


def invoke() -> Operation:
    model = Scripted()
    return lambda: model.invoke(PROMPT)


def ainvoke() -> Operation:
    model = Scripted()

    async def operation() -> Any:
        return await model.ainvoke(PROMPT)

    return operation


def stream() -> Operation:
    model = Scripted()

    def operation() -> None:
        for _ in model.stream(PROMPT):
            pass

    return operation


def astream() -> Operation:
    model = Scripted()

    async def operation() -> None:
        async for _ in model.astream(PROMPT):
            pass

    return operation


def tool_invoke() -> Operation:
    return lambda: search.invoke("six times seven")


def tool_ainvoke() -> Operation:
    async def operation() -> Any:
        return await search.ainvoke("six times seven")

    return operation
