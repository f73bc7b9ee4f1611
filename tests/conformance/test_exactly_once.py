"""Operations and hook passes are exactly those that a reader of the application would count."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.langchain import WAYS, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedEmbeddings, SilentChat
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import recorder
from tests.conformance.everything import SUBJECTS
from tests.conformance.tracing import span_id


def counting() -> tuple[Hooks, Counter[tuple[str, str, str]]]:
    """Hooks that count the passes of each event, and the count."""
    hooks, passes = Hooks(), Counter[tuple[str, str, str]]()

    @hooks.before("*")
    def count_before(op: Operation) -> None:
        passes[op.kind, op.name, "before"] += 1

    @hooks.after("*")
    def count_after(op: Operation) -> None:
        passes[op.kind, op.name, "after"] += 1

    return hooks, passes


@pytest.mark.parametrize("way", WAYS)
def test_an_agent(way: str) -> None:
    calls = Calls()
    hooks, passes = counting()
    with recorder(hooks) as seen:
        settle(consume(agent(calls), way))
    expected = {
        ("agent.invoke", "helper"): 1,
        ("llm.call", "gpt-4o-mini"): 3,
        ("tool.execute", "search"): 1,
        ("tool.execute", "refund"): 1,
        ("workflow.step", "model"): 3,
        ("workflow.step", "tools"): 2,
    }
    assert Counter((op.kind, op.name) for op in seen.operations) == expected
    for phase in ("before", "after"):
        assert {(kind, name): n for (kind, name, at), n in passes.items() if at == phase} == expected
    root = seen.operations[-1]
    assert (root.usage.llm_calls, root.usage.tool_calls, root.usage.input_tokens) == (3, 2, 69)
    assert [event["name"] for event in seen.events] == ["spanhook.run"]


class Router(ScriptedChat):
    """A chat model that asks two others, one of which has its own name."""

    first: Any
    second: Any

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.first.invoke(messages)
        message = self.second.invoke(messages)
        result = super()._generate(messages)
        result.generations[0].message = message
        return result

    _stream = BaseChatModel._stream


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_a_router_that_calls_two_models_is_three_operations(way: str) -> None:
    body = Body()
    router = Router(
        body=body,
        first=ScriptedChat(body=body, model_name="gpt-4o"),
        second=ScriptedChat(body=body),
    )
    hooks, passes = counting()
    with recorder(hooks) as seen:
        settle(SUBJECTS[0].ways[way](router))
        tokens = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    assert [op.kind for op in seen.operations] == ["llm.call"] * 3
    assert sum(n for (_, _, phase), n in passes.items() if phase == "before") == 3
    # the router's own answer is one of theirs: it is not counted again
    assert tokens == 2 * 28
    root = seen.operations[-1]
    assert root.usage.total_tokens == 56
    assert root.usage.llm_calls == 2
    attributes = dict(seen.spans[-1].attributes or {})
    assert "gen_ai.usage.input_tokens" not in attributes
    assert attributes["spanhook.usage.input_tokens"] == 40


class SubState(TypedDict):
    depth: int


def test_a_self_recursive_agent() -> None:
    def work(state: SubState) -> SubState:
        if state["depth"] > 0:
            compiled.invoke({"depth": state["depth"] - 1})
        return state

    builder = StateGraph(SubState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    compiled: Any = builder.compile(name="recursive")
    hooks, passes = counting()
    with recorder(hooks) as seen:
        compiled.invoke({"depth": 3})
    assert passes["agent.invoke", "recursive", "before"] == 4
    assert [op.kind for op in seen.operations].count("agent.invoke") == 4
    assert [event["name"] for event in seen.events] == ["spanhook.run"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "events"])
def test_a_sub_agent_in_a_tool(way: str) -> None:
    inner_calls = Calls()

    @tool
    def ask_expert(question: str) -> str:
        """Ask the expert."""
        return agent(inner_calls, name_of="expert").invoke({"messages": [("user", question)]})["messages"][-1].content

    def agent(calls: Calls, name_of: str = "helper", extra: Any = ()) -> Any:
        from langchain.agents import create_agent

        from spanhook.cli.conformance.libraries.langchain import Turns

        turns = (
            [[("ask_expert", {"question": "x"})], "done"] if extra else [[("search", {"query": "x"})], "expert says"]
        )
        return create_agent(Turns(turns=turns, asked=[]), tools=[*calls.tools(), *extra], name=name_of)

    hooks, passes = counting()
    with recorder(hooks) as seen:
        settle(consume(agent(Calls(), extra=[ask_expert]), way))
    for phase in ("before", "after"):
        found = {(kind, name): n for (kind, name, at), n in passes.items() if at == phase and kind != "workflow.step"}
        assert found == {
            ("agent.invoke", "helper"): 1,
            ("agent.invoke", "expert"): 1,
            ("llm.call", "gpt-4o-mini"): 4,
            ("tool.execute", "ask_expert"): 1,
            ("tool.execute", "search"): 1,
        }
    kinds = Counter((op.kind, op.name) for op in seen.operations)
    assert kinds["agent.invoke", "helper"] == 1
    assert kinds["agent.invoke", "expert"] == 1
    assert kinds["llm.call", "gpt-4o-mini"] == 4
    assert kinds["tool.execute", "ask_expert"] == 1
    assert kinds["tool.execute", "search"] == 1
    by_name = {op.name: op for op in seen.operations if op.kind != "llm.call"}
    assert by_name["expert"].parent is by_name["ask_expert"]
    assert by_name["expert"].usage.llm_calls == 2
    assert by_name["helper"].usage.llm_calls == 4
    assert by_name["helper"].usage.tool_calls == 2
    assert {op.agent for op in seen.operations if op.name == "search"} == {"expert"}


def test_a_subgraph_is_no_run_of_its_own() -> None:
    inner = StateGraph(SubState)
    inner.add_node("leaf", lambda state: state)
    inner.add_edge(START, "leaf")
    outer = StateGraph(SubState)
    outer.add_node("inner", inner.compile(name="inner"))
    outer.add_edge(START, "inner")
    with recorder() as seen:
        outer.compile(name="outer").invoke({"depth": 1})
    assert [(op.name, op.parent.name if op.parent else None) for op in seen.operations] == [
        ("inner", "outer"),
        ("outer", None),
    ]
    assert [event["attributes"]["spanhook.target"] for event in seen.events] == ["outer"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_parallel_tool_calls(way: str) -> None:
    calls = Calls()
    turns = [[("search", {"query": str(number)}) for number in range(5)], "done"]
    hooks, passes = counting()
    with recorder(hooks) as seen:
        settle(consume(agent(calls, turns), way))
    assert calls.made == ["search"] * 5
    assert passes["tool.execute", "search", "before"] == 5
    root = seen.operations[-1]
    assert root.usage.tool_calls == 5
    tools = [op for op in seen.operations if op.kind == "tool.execute"]
    assert len({op._record.attributes["gen_ai.tool.call.id"] for op in tools}) == 5


class Failing(ScriptedChat):
    """A chat model whose provider is down."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.body.run(messages)
        raise ConnectionError("provider is down")

    _stream = BaseChatModel._stream


def test_fallback_models() -> None:
    body = Body()
    model = Failing(body=body, model_name="gpt-4o").with_fallbacks([ScriptedChat(body=body)])
    hooks, passes = counting()
    with recorder(hooks) as seen:
        assert model.invoke("hi").content == "hello there friend"
    assert passes == {
        ("llm.call", "gpt-4o", "before"): 1,
        ("llm.call", "gpt-4o-mini", "before"): 1,
        ("llm.call", "gpt-4o-mini", "after"): 1,
    }
    assert [(op.model, op.status) for op in seen.operations] == [("gpt-4o", "error"), ("gpt-4o-mini", "success")]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_judge_model_inside_a_hook(is_async: bool) -> None:
    body = Body()
    judge = ScriptedChat(body=Body(), model_name="gpt-4o")
    hooks = Hooks()
    passes: list[str] = []

    @hooks.before("llm.call", timeout=60.0)
    def judged(op: Operation) -> None:
        passes.append(op.model)
        judge.invoke("is this fine?")

    @hooks.before("llm.call", timeout=60.0)
    async def ajudged(op: Operation) -> None:
        passes.append(op.model)
        await judge.ainvoke("is this fine?")

    model = ScriptedChat(body=body)
    with recorder(hooks) as seen:
        asyncio.run(model.ainvoke("hi")) if is_async else model.invoke("hi")
    assert passes == ["gpt-4o-mini"] * 2
    assert [(op.model, op.in_hook) for op in seen.operations] == [
        ("gpt-4o", True),
        ("gpt-4o", True),
        ("gpt-4o-mini", False),
    ]
    marked = [span for span in seen.spans if (span.attributes or {}).get("spanhook.in_hook")]
    assert len(marked) == 2
    outer = seen.spans[-1]
    assert {span.parent.span_id for span in marked if span.parent} == {span_id(outer)}
    # what judges use is spent all the same
    root = seen.operations[-1]
    assert root.usage.total_tokens == 3 * 28


class Overriding(ScriptedEmbeddings):
    """Embeddings that override a method and call the one they override."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return super().embed_documents(texts)


class OverridingChat(ScriptedChat):
    """A chat model that overrides the public methods themselves."""

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        return super().generate(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from super().stream(*args, **kwargs)


@pytest.mark.parametrize("way", ["documents", "query", "adocuments", "aquery"])
def test_a_method_that_calls_the_one_it_overrides(way: str) -> None:
    subject = next(subject for subject in SUBJECTS if subject.name == "embeddings")
    hooks, passes = counting()
    with recorder(hooks) as seen:
        settle(subject.ways[way](Overriding(Body())))
    assert len(seen.operations) == 1
    assert sum(passes.values()) == 2


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "batch"])
def test_a_model_that_overrides_the_methods_that_are_wrapped(way: str) -> None:
    with recorder() as seen:
        settle(SUBJECTS[0].ways[way](OverridingChat(body=Body())))
    assert len(seen.operations) == SUBJECTS[0].calls(way)


def test_classes_made_after_instrument_are_bound_too() -> None:
    with recorder() as seen:

        class Late(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [[0.0] for _ in texts]

            def embed_query(self, text: str) -> list[float]:
                return [0.0]

        Late().embed_query("x")
        Late().embed_documents(["x"])
    assert [op.kind for op in seen.operations] == ["embeddings.create"] * 2
    assert type(vars(Late)["embed_query"]).__name__ == "function"


def test_a_model_that_cannot_stream_is_one_operation_all_the_same() -> None:
    body = Body()
    with recorder() as seen:
        list(SilentChat(body=body).stream("hi"))
    assert body.runs == 1
    assert len(seen.operations) == 1
    assert seen.operations[0].usage.total_tokens == 28


class Chatty(ScriptedChat):
    """A chat model whose stream asks the model itself: not another operation, but its own way of answering."""

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        message = self.invoke(messages)
        yield ChatGenerationChunk(
            message=AIMessageChunk(content=message.content, usage_metadata=message.usage_metadata)
        )


def test_a_stream_that_is_answered_by_the_model_itself() -> None:
    body = Body()
    with recorder() as seen:
        list(Chatty(body=body).stream("hi"))
    assert len(seen.operations) == 1
    assert seen.operations[0].usage.total_tokens == 28
