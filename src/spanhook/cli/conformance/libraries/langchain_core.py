"""What is gated in LangChain, and every way of calling it. Each subject counts the runs of its body."""

from collections.abc import Callable, Iterator
from typing import Any

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

from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.runnables import V3, collect, lacks_v3, later, more_ways, opened, then, v3_ways
from spanhook.cli.conformance.subject import Body, Query, Subject, Ungated, Use

# ----------------------------------------------------------------------------------------------- chat

USAGE = {"input_tokens": 20, "output_tokens": 8, "total_tokens": 28, "input_token_details": {"cache_read": 5}}
SAID = "hello there friend"


class ScriptedChat(BaseChatModel):
    """A chat model that always gives the same answer, streamed or not, and reports usage."""

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
        self.body.run(messages, USAGE["total_tokens"])
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.body.run(messages, USAGE["total_tokens"])
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


def _as_it_is(message: BaseMessage) -> BaseMessage:
    return message


CHAT_WAYS: dict[str, Use] = {
    "invoke": lambda model: model.invoke("hi"),
    "ainvoke": lambda model: model.ainvoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "astream": lambda model: collect(model.astream("hi")),
    "batch": lambda model: model.batch(["hi", "ho"]),
    "abatch": lambda model: model.abatch(["hi", "ho"]),
    "generate": lambda model: model.generate([[AIMessage("hi")], [AIMessage("ho")]]),
    "agenerate": lambda model: model.agenerate([[AIMessage("hi")], [AIMessage("ho")]]),
    "events": lambda model: collect(model.astream_events("hi", version="v2")),
    "bound": lambda model: model.bind(stop=["x"]).invoke("hi"),
    "piped": lambda model: (model | _as_it_is).invoke("hi"),
    **more_ways("hi", "ho"),
    **v3_ways(BaseChatModel, "hi"),
}
SILENT_WAYS = {name: way for name, way in CHAT_WAYS.items() if "v3" not in name}
CHAT_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda model: later(model.invoke, "hi"),
    "ainvoke": lambda model: later(model.ainvoke, "hi"),
    "generate": lambda model: later(model.generate, [[AIMessage("hi")]]),
    "agenerate": lambda model: later(model.agenerate, [[AIMessage("hi")]]),
    "stream": lambda model: then(list, model.stream, "hi"),
    "astream": lambda model: then(collect, model.astream, "hi"),
    "batch": lambda model: later(model.batch, ["hi"]),
}


# ----------------------------------------------------------------------------------------------- text


class ScriptedText(BaseLLM):
    """A text model that always gives the same answer."""

    body: Any
    model_name: str = "gpt-3.5-turbo-instruct"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, prompts: list[str], *args: Any, **kwargs: Any) -> LLMResult:
        self.body.run(prompts, 7 * len(prompts))
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
    "astream": lambda model: collect(model.astream("hi")),
    "batch": lambda model: model.batch(["hi", "ho"]),
    "abatch": lambda model: model.abatch(["hi", "ho"]),
    "events": lambda model: collect(model.astream_events("hi", version="v2")),
    **more_ways("hi", "ho"),
}
TEXT_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda model: later(model.invoke, "hi"),
    "generate": lambda model: later(model.generate, ["hi"]),
    "stream": lambda model: then(list, model.stream, "hi"),
}


# ----------------------------------------------------------------------------------------------- tools


FOUND = "found"


def make_tool(body: Body) -> StructuredTool:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return f"{FOUND} {query}"

    return StructuredTool.from_function(look_up)


def _async_tool(body: Body) -> StructuredTool:
    async def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return f"{FOUND} {query}"

    return StructuredTool.from_function(coroutine=look_up)


TOOL_WAYS: dict[str, Use] = {
    "invoke": lambda tool: tool.invoke({"query": "x"}),
    "ainvoke": lambda tool: tool.ainvoke({"query": "x"}),
    "run": lambda tool: tool.run("x"),
    "arun": lambda tool: tool.arun("x"),
    "stream": lambda tool: list(tool.stream({"query": "x"})),
    "astream": lambda tool: collect(tool.astream({"query": "x"})),
    "batch": lambda tool: tool.batch([{"query": "x"}, {"query": "y"}]),
    "abatch": lambda tool: tool.abatch([{"query": "x"}, {"query": "y"}]),
    "events": lambda tool: collect(tool.astream_events({"query": "x"}, version="v2")),
    **more_ways({"query": "x"}, {"query": "y"}),
}
ASYNC_TOOL_WAYS = {name: way for name, way in TOOL_WAYS.items() if name.startswith("a") or name == "events"}
TOOL_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda tool: later(tool.invoke, {"query": "x"}),
    "run": lambda tool: later(tool.run, "x"),
    "ainvoke": lambda tool: later(tool.ainvoke, {"query": "x"}),
    "arun": lambda tool: later(tool.arun, "x"),
}


# ----------------------------------------------------------------------------------------------- retrieval


class ScriptedRetriever(BaseRetriever):
    """A retriever that always finds the same documents."""

    body: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.body.run(query)
        return [Document(page_content="found it")]


class ScriptedEmbeddings(Embeddings):
    """Embeddings whose `embed_query` calls `embed_documents`, as many do."""

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
    "astream": lambda retriever: collect(retriever.astream("x")),
    "batch": lambda retriever: retriever.batch(["x", "y"]),
    "abatch": lambda retriever: retriever.abatch(["x", "y"]),
    "events": lambda retriever: collect(retriever.astream_events("x", version="v2")),
    **more_ways("x", "y"),
}
EMBEDDINGS_WAYS: dict[str, Use] = {
    "documents": lambda embeddings: embeddings.embed_documents(["x", "y"]),
    "query": lambda embeddings: embeddings.embed_query("x"),
    "adocuments": lambda embeddings: embeddings.aembed_documents(["x", "y"]),
    "aquery": lambda embeddings: embeddings.aembed_query("x"),
}


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "chat",
        "llm.call",
        lambda body: ScriptedChat(body=body),
        CHAT_WAYS,
        CHAT_BIND,
        said=SAID,
        listeners=listeners,
        opened=opened("hi"),
        lacking=V3 if lacks_v3(BaseChatModel) else (),
    ),
    Subject(
        "silent chat",
        "llm.call",
        lambda body: SilentChat(body=body),
        SILENT_WAYS,
        CHAT_BIND,
        said=SAID,
        listeners=listeners,
    ),
    Subject(
        "text",
        "llm.call",
        lambda body: ScriptedText(body=body),
        TEXT_WAYS,
        TEXT_BIND,
        said=SAID,
        listeners=listeners,
        opened=opened("hi"),
        whole_batches=True,
    ),
    Subject("tool", "tool.execute", make_tool, TOOL_WAYS, TOOL_BIND, said=FOUND, listeners=listeners),
    Subject(
        "async tool",
        "tool.execute",
        _async_tool,
        ASYNC_TOOL_WAYS,
        {name: way for name, way in TOOL_BIND.items() if name.startswith("a")},
        said=FOUND,
        listeners=listeners,
    ),
    Subject(
        "retriever",
        "retrieval.query",
        lambda body: ScriptedRetriever(body=body),
        RETRIEVER_WAYS,
        {"invoke": lambda retriever: later(retriever.invoke, "x")},
        answer=[Document(page_content="instead")],
    ),
    Subject(
        "embeddings",
        "embeddings.create",
        ScriptedEmbeddings,
        EMBEDDINGS_WAYS,
        {"query": lambda embeddings: later(embeddings.embed_query, "x")},
    ),
)

UNGATED = (Ungated("a tool's function, by its own name", make_tool, lambda tool: tool.func("x")),)
