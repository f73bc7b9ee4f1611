"""What is gated, and every way there is of calling it. Each subject counts how often its body ran."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypedDict

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import BaseLLM
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from spanhook.semconv import Kind
from tests.loops import run


@dataclass
class Body:
    """Counts the runs of a body."""

    runs: int = 0
    seen: list[Any] = field(default_factory=list[Any])

    def run(self, given: Any) -> None:
        self.runs += 1
        self.seen.append(given)


Use = Callable[[Any], Any]
"""Calls a subject once; returns a value, or an awaitable for the async ways."""


@dataclass(frozen=True)
class Subject:
    """A thing that is gated.

    Attributes:
        name: What tests call it.
        kind: The kind of operation it makes.
        make: A new one, counting into the body it is given.
        ways: Every way of calling it, by name.
        bind: Ways to take a reference first and call it later, by name.
    """

    name: str
    kind: Kind
    make: Callable[[Body], Any]
    ways: dict[str, Use]
    bind: dict[str, Callable[[Any], Callable[[], Any]]]


def settle(made: Any) -> Any:
    """The result of a call, async or not."""
    if isinstance(made, Awaitable):

        async def wait() -> Any:
            return await made

        return run(wait())
    return made


async def _collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


def _completed(thing: Any, given: list[Any]) -> list[Any]:
    """Results as they come, in the order of what was given."""
    return [result for _, result in sorted(thing.batch_as_completed(given), key=lambda pair: pair[0])]


async def _acompleted(thing: Any, given: list[Any]) -> list[Any]:
    pairs = [pair async for pair in thing.abatch_as_completed(given)]
    return [result for _, result in sorted(pairs, key=lambda pair: pair[0])]


async def _one_by_one(given: Any) -> AsyncIterator[Any]:
    yield given


def _more_ways(given: Any, other: Any) -> dict[str, Use]:
    """Ways that every Runnable has beside those one thinks of."""
    return {
        "transform": lambda thing: list(thing.transform(iter([given]))),
        "atransform": lambda thing: _collect(thing.atransform(_one_by_one(given))),
        "batch as completed": lambda thing: _completed(thing, [given, other]),
        "abatch as completed": lambda thing: _acompleted(thing, [given, other]),
    }


async def _av3(thing: Any, given: Any) -> list[Any]:
    return await _collect(await thing.astream_events(given, version="v3"))


def _v3_ways(kind: type, given: Any) -> dict[str, Use]:
    """The third version of events, where LangChain and LangGraph have it."""
    if not hasattr(kind, "stream_events"):
        return {}
    return {
        "v3": lambda thing: list(thing.stream_events(given, version="v3")),
        "av3": lambda thing: _av3(thing, given),
    }


# ----------------------------------------------------------------------------------------------- chat

USAGE = {"input_tokens": 20, "output_tokens": 8, "total_tokens": 28, "input_token_details": {"cache_read": 5}}
SAID = "hello there friend"


class ScriptedChat(BaseChatModel):
    """A chat model that always says the same, streamed or not, and reports what it used."""

    body: Any
    model_name: str = "gpt-4o-mini"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _message(self) -> AIMessage:
        return AIMessage(
            content=SAID,
            usage_metadata=USAGE,  # pyright: ignore[reportArgumentType]
            response_metadata={"model_name": "gpt-4o-mini-2024-07-18", "finish_reason": "stop"},
        )

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.body.run(messages)
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.body.run(messages)
        for word in SAID.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                usage_metadata=USAGE,  # pyright: ignore[reportArgumentType]
                response_metadata={"model_name": "gpt-4o-mini-2024-07-18", "finish_reason": "stop"},
            )
        )


class SilentChat(ScriptedChat):
    """A chat model that cannot stream: `stream` falls back on `invoke`."""

    _stream = BaseChatModel._stream


CHAT_WAYS: dict[str, Use] = {
    "invoke": lambda model: model.invoke("hi"),
    "ainvoke": lambda model: model.ainvoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "astream": lambda model: _collect(model.astream("hi")),
    "batch": lambda model: model.batch(["hi", "ho"]),
    "abatch": lambda model: model.abatch(["hi", "ho"]),
    "generate": lambda model: model.generate([[AIMessage("hi")], [AIMessage("ho")]]),
    "agenerate": lambda model: model.agenerate([[AIMessage("hi")], [AIMessage("ho")]]),
    "events": lambda model: _collect(model.astream_events("hi", version="v2")),
    "bound": lambda model: model.bind(stop=["x"]).invoke("hi"),
    "piped": lambda model: (model | (lambda message: message)).invoke("hi"),
    **_more_ways("hi", "ho"),
    **_v3_ways(BaseChatModel, "hi"),
}
SILENT_WAYS = {name: way for name, way in CHAT_WAYS.items() if "v3" not in name}
CHAT_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda model: _later(model.invoke, "hi"),
    "ainvoke": lambda model: _later(model.ainvoke, "hi"),
    "generate": lambda model: _later(model.generate, [[AIMessage("hi")]]),
    "agenerate": lambda model: _later(model.agenerate, [[AIMessage("hi")]]),
    "stream": lambda model: _then(list, model.stream, "hi"),
    "astream": lambda model: _then(_collect, model.astream, "hi"),
    "batch": lambda model: _later(model.batch, ["hi"]),
}


def _later(bound: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: bound(*args)


def _then(use: Callable[[Any], Any], bound: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: use(bound(*args))


# ----------------------------------------------------------------------------------------------- text


class ScriptedText(BaseLLM):
    """A text model that always says the same."""

    body: Any
    model_name: str = "gpt-3.5-turbo-instruct"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, prompts: list[str], *args: Any, **kwargs: Any) -> LLMResult:
        self.body.run(prompts)
        used = {"prompt_tokens": 4 * len(prompts), "completion_tokens": 3 * len(prompts)}
        return LLMResult(
            generations=[[Generation(text=SAID)] for _ in prompts],
            llm_output={"token_usage": used, "model_name": "gpt-3.5-turbo-instruct"},
        )

    def _stream(self, prompt: str, *args: Any, **kwargs: Any) -> Iterator[GenerationChunk]:
        self.body.run(prompt)
        for word in SAID.split(" "):
            yield GenerationChunk(text=word)


TEXT_WAYS: dict[str, Use] = {
    "invoke": lambda model: model.invoke("hi"),
    "ainvoke": lambda model: model.ainvoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "astream": lambda model: _collect(model.astream("hi")),
    "batch": lambda model: model.batch(["hi", "ho"]),
    "abatch": lambda model: model.abatch(["hi", "ho"]),
    "events": lambda model: _collect(model.astream_events("hi", version="v2")),
    **_more_ways("hi", "ho"),
}
TEXT_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda model: _later(model.invoke, "hi"),
    "generate": lambda model: _later(model.generate, ["hi"]),
    "stream": lambda model: _then(list, model.stream, "hi"),
}


# ----------------------------------------------------------------------------------------------- tools


def _tool(body: Body) -> StructuredTool:
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return f"found {query}"

    return StructuredTool.from_function(look_up)


def _async_tool(body: Body) -> StructuredTool:
    async def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return f"found {query}"

    return StructuredTool.from_function(coroutine=look_up)


TOOL_WAYS: dict[str, Use] = {
    "invoke": lambda tool: tool.invoke({"query": "x"}),
    "ainvoke": lambda tool: tool.ainvoke({"query": "x"}),
    "run": lambda tool: tool.run("x"),
    "arun": lambda tool: tool.arun("x"),
    "stream": lambda tool: list(tool.stream({"query": "x"})),
    "astream": lambda tool: _collect(tool.astream({"query": "x"})),
    "batch": lambda tool: tool.batch([{"query": "x"}, {"query": "y"}]),
    "abatch": lambda tool: tool.abatch([{"query": "x"}, {"query": "y"}]),
    "events": lambda tool: _collect(tool.astream_events({"query": "x"}, version="v2")),
    **_more_ways({"query": "x"}, {"query": "y"}),
}
ASYNC_TOOL_WAYS = {name: way for name, way in TOOL_WAYS.items() if name.startswith("a") or name == "events"}
TOOL_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda tool: _later(tool.invoke, {"query": "x"}),
    "run": lambda tool: _later(tool.run, "x"),
    "ainvoke": lambda tool: _later(tool.ainvoke, {"query": "x"}),
    "arun": lambda tool: _later(tool.arun, "x"),
}


# ----------------------------------------------------------------------------------------------- retrieval


class ScriptedRetriever(BaseRetriever):
    """A retriever that always finds the same."""

    body: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.body.run(query)
        return [Document(page_content="found it")]


class ScriptedEmbeddings(Embeddings):
    """Embeddings of which `embed_query` ends in `embed_documents`, as many do."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.model = "text-embedding-3-small"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.body.run(texts)
        return [[0.5, 0.5] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


RETRIEVER_WAYS: dict[str, Use] = {
    "invoke": lambda retriever: retriever.invoke("x"),
    "ainvoke": lambda retriever: retriever.ainvoke("x"),
    "stream": lambda retriever: list(retriever.stream("x")),
    "astream": lambda retriever: _collect(retriever.astream("x")),
    "batch": lambda retriever: retriever.batch(["x", "y"]),
    "abatch": lambda retriever: retriever.abatch(["x", "y"]),
    "events": lambda retriever: _collect(retriever.astream_events("x", version="v2")),
    **_more_ways("x", "y"),
}
EMBEDDINGS_WAYS: dict[str, Use] = {
    "documents": lambda embeddings: embeddings.embed_documents(["x", "y"]),
    "query": lambda embeddings: embeddings.embed_query("x"),
    "adocuments": lambda embeddings: embeddings.aembed_documents(["x", "y"]),
    "aquery": lambda embeddings: embeddings.aembed_query("x"),
}


# ----------------------------------------------------------------------------------------------- graphs


class State(TypedDict, total=False):
    value: str


def make_graph(body: Body) -> Any:
    """A graph of one node."""

    def work(state: State) -> State:
        body.run(state)
        return {"value": "done"}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(name="worker")


def make_handoff(body: Body) -> Any:
    """A graph that hands off, in a graph whose other node it hands off to."""

    def hand_off(_state: State) -> Command[str]:
        return Command(graph=Command.PARENT, goto="other", update={"value": "handed over"})

    def other(state: State) -> State:
        body.run(state)
        return {"value": "done"}

    inner: Any = StateGraph(State)
    inner.add_node("hand off", hand_off)
    inner.add_edge(START, "hand off")
    outer: Any = StateGraph(State)
    outer.add_node("one", inner.compile(name="one"))
    outer.add_node("other", other)
    outer.add_edge(START, "one")
    return outer.compile(name="both")


class CountingStore(InMemoryStore):
    """A store behind another, which counts what is written."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.body.run(ops)
        return super().batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self.body.run(ops)
        return await super().abatch(ops)


class OuterStore(BaseStore):
    """A store that hands on to another."""

    def __init__(self, inner: BaseStore) -> None:
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)


_VALUE = {"what": "tea"}
STORE_WAYS: dict[str, Use] = {
    "put": lambda store: store.put(("notes",), "k", _VALUE),
    "aput": lambda store: store.aput(("notes",), "k", _VALUE),
    "delete": lambda store: store.delete(("notes",), "k"),
    "adelete": lambda store: store.adelete(("notes",), "k"),
    "batch of writes": lambda store: store.batch([PutOp(("notes",), "k", _VALUE)]),
    "abatch of writes": lambda store: store.abatch([PutOp(("notes",), "k", _VALUE)]),
}
STORE_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "put": lambda store: _later(store.put, ("notes",), "k", _VALUE),
    "abatch of writes": lambda store: _later(store.abatch, [PutOp(("notes",), "k", _VALUE)]),
}

GIVEN: State = {"value": "x"}
GRAPH_WAYS: dict[str, Use] = {
    "invoke": lambda graph: graph.invoke(GIVEN),
    "ainvoke": lambda graph: graph.ainvoke(GIVEN),
    "stream": lambda graph: list(graph.stream(GIVEN)),
    "astream": lambda graph: _collect(graph.astream(GIVEN)),
    "stream values": lambda graph: list(graph.stream(GIVEN, stream_mode="values")),
    "stream many": lambda graph: list(graph.stream(GIVEN, stream_mode=["values", "updates", "messages"])),
    "batch": lambda graph: graph.batch([GIVEN, GIVEN]),
    "abatch": lambda graph: graph.abatch([GIVEN, GIVEN]),
    "events": lambda graph: _collect(graph.astream_events(GIVEN, version="v2")),
    **_more_ways(GIVEN, GIVEN),
    **_v3_ways(CompiledStateGraph, GIVEN),
}
GRAPH_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda graph: _later(graph.invoke, GIVEN),
    "ainvoke": lambda graph: _later(graph.ainvoke, GIVEN),
    "stream": lambda graph: _then(list, graph.stream, GIVEN),
    "astream": lambda graph: _then(_collect, graph.astream, GIVEN),
}


SUBJECTS: tuple[Subject, ...] = (
    Subject("chat", "llm.call", lambda body: ScriptedChat(body=body), CHAT_WAYS, CHAT_BIND),
    Subject("silent chat", "llm.call", lambda body: SilentChat(body=body), SILENT_WAYS, CHAT_BIND),
    Subject("text", "llm.call", lambda body: ScriptedText(body=body), TEXT_WAYS, TEXT_BIND),
    Subject("tool", "tool.execute", _tool, TOOL_WAYS, TOOL_BIND),
    Subject(
        "async tool",
        "tool.execute",
        _async_tool,
        ASYNC_TOOL_WAYS,
        {name: way for name, way in TOOL_BIND.items() if name.startswith("a")},
    ),
    Subject(
        "retriever",
        "retrieval.query",
        lambda body: ScriptedRetriever(body=body),
        RETRIEVER_WAYS,
        {"invoke": lambda retriever: _later(retriever.invoke, "x")},
    ),
    Subject(
        "embeddings",
        "embeddings.create",
        ScriptedEmbeddings,
        EMBEDDINGS_WAYS,
        {"query": lambda embeddings: _later(embeddings.embed_query, "x")},
    ),
    Subject("handoff", "agent.delegate", make_handoff, GRAPH_WAYS, GRAPH_BIND),
    Subject("store", "memory.store", lambda body: OuterStore(CountingStore(body)), STORE_WAYS, STORE_BIND),
    Subject("graph", "agent.invoke", make_graph, GRAPH_WAYS, GRAPH_BIND),
)
