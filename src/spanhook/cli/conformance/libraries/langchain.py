"""Real LangChain agents over a scripted model: every way of running them, and what is gated inside them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.graph.state import CompiledStateGraph

from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.langchain_core import FOUND, SAID, make_tool
from spanhook.cli.conformance.libraries.runnables import V3, collect, lacks_v3
from spanhook.cli.conformance.subject import Body, Subject, Use

create = cast("Callable[..., Any]", create_agent)
"""Its own type is only partly known."""

USED = {"input_tokens": 23, "output_tokens": 11, "total_tokens": 34}


class Turns(BaseChatModel):
    """A chat model that follows a script: turn n is its answer after n tool results.

    A turn is text, or the tool calls to make as ``(name, arguments)``.
    """

    turns: Sequence[Any]
    model_name: str = "gpt-4o-mini"
    asked: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "turns"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[{"name": one.name} for one in tools])

    def _message(self, messages: list[BaseMessage]) -> AIMessage:
        self.asked.append(messages)
        done = sum(isinstance(message, ToolMessage) for message in messages)
        index = 0
        while done > 0 and index < len(self.turns):
            turn = self.turns[index]
            done -= len(cast("list[Any]", turn)) if isinstance(turn, list) else 0
            index += 1
        turn = self.turns[min(index, len(self.turns) - 1)]
        told: dict[str, Any] = {
            "usage_metadata": dict(USED),
            "response_metadata": {"model_name": self.model_name, "finish_reason": "stop"},
        }
        if isinstance(turn, str):
            return AIMessage(content=turn, **told)
        calls = [
            {"name": name, "args": args, "id": f"call_{index}_{number}", "type": "tool_call"}
            for number, (name, args) in enumerate(turn)
        ]
        return AIMessage(content="", tool_calls=calls, **told)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._message(messages))])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        message = self._message(messages)
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content=message.content,
                tool_calls=message.tool_calls,
                usage_metadata=message.usage_metadata,
                response_metadata=message.response_metadata,
            )
        )


class Calls:
    """Counts calls of tools by name."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def tools(self) -> list[BaseTool]:
        made = self.made

        @tool
        def search(query: str) -> str:
            """Search the web."""
            made.append("search")
            return f"found {query}"

        @tool
        def refund(amount: int) -> str:
            """Refund an amount."""
            made.append("refund")
            return f"refunded {amount}"

        return [search, refund]


SCRIPT: tuple[Any, ...] = ([("search", {"query": "x"})], [("refund", {"amount": 50})], "All done.")


def agent(calls: Calls, turns: Sequence[Any] = SCRIPT, **options: Any) -> Any:
    """A `create_agent` agent that searches, refunds and says so."""
    return create(Turns(turns=turns, asked=[]), tools=calls.tools(), name="helper", **options)


ASK: Any = {"messages": [{"role": "user", "content": "refund me"}]}


def consume(graph: Any, way: str, given: Any = None, config: Any = None) -> Any:
    """Run a graph in one of the ways; async ways return an awaitable."""
    given = ASK if given is None else given

    async def events() -> list[Any]:
        return [event async for event in graph.astream_events(given, config, version="v2")]

    async def astream() -> list[Any]:
        return [chunk async for chunk in graph.astream(given, config)]

    async def v3() -> Any:
        run = await graph.astream_events(given, config, version="v3")
        return await run.output()

    ways: dict[str, Callable[[], Any]] = {
        "invoke": lambda: graph.invoke(given, config),
        "ainvoke": lambda: graph.ainvoke(given, config),
        "stream": lambda: list(graph.stream(given, config)),
        "stream messages": lambda: list(graph.stream(given, config, stream_mode="messages")),
        "astream": astream,
        "events": events,
        "v3": lambda: graph.stream_events(given, config, version="v3").output,
        "av3": v3,
        "batch": lambda: graph.batch([given], config),
        "abatch": lambda: graph.abatch([given], config),
    }
    return ways[way]()


WAYS = [
    "invoke",
    "ainvoke",
    "stream",
    "stream messages",
    "astream",
    "events",
    "batch",
    "abatch",
    *(() if lacks_v3(CompiledStateGraph) else V3),
]


class CountingTurns(Turns):
    """``Turns`` that counts its calls."""

    body: Any

    def _message(self, messages: list[BaseMessage]) -> AIMessage:
        self.body.run(messages, USED["total_tokens"])
        return super()._message(messages)


def _asking(body: Body) -> Any:
    return create(CountingTurns(turns=[SAID], asked=[], body=body), tools=[], name="helper")


def _using(body: Body) -> Any:
    turns = [[("look_up", {"query": "x"})], "All done."]
    return create(Turns(turns=turns, asked=[]), tools=[make_tool(body)], name="helper")


def _run(way: str) -> Use:
    return lambda graph: consume(graph, way)


AGENT_WAYS: dict[str, Use] = {
    **{way: _run(way) for way in WAYS},
    "batch": lambda graph: graph.batch([ASK, ASK]),
    "abatch": lambda graph: graph.abatch([ASK, ASK]),
    "astream messages": lambda graph: collect(graph.astream(ASK, stream_mode="messages")),
}
_LACKING = V3 if lacks_v3(CompiledStateGraph) else ()

SUBJECTS: tuple[Subject, ...] = (
    Subject("an agent's model", "llm.call", _asking, AGENT_WAYS, {}, said=SAID, listeners=listeners, lacking=_LACKING),
    Subject(
        "an agent's tool",
        "tool.execute",
        _using,
        AGENT_WAYS,
        {},
        said=FOUND,
        listeners=listeners,
        raises=False,
        lacking=_LACKING,
    ),
)
