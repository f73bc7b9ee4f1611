"""LangGraph: a LangChain agent with three model calls and two tool calls per run, and a graph of one node."""

from collections.abc import Callable
from typing import Any, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from benchmarks.workloads import Operation
from benchmarks.workloads.models import TOOLS, Scripted

create = cast("Callable[..., Any]", create_agent)
"""Its own type is only partly known."""

INPUT: Any = {"messages": [{"role": "user", "content": "What is 6*7?"}]}
MESSAGES = 6


def _agent() -> Any:
    return create(Scripted(), tools=TOOLS, system_prompt="You are a helpful assistant.", name="bench_agent")


def invoke() -> Operation:
    agent = _agent()

    def operation() -> None:
        messages = agent.invoke(INPUT)["messages"]
        assert len(messages) == MESSAGES, messages

    return operation


def ainvoke() -> Operation:
    agent = _agent()

    async def operation() -> None:
        messages = (await agent.ainvoke(INPUT))["messages"]
        assert len(messages) == MESSAGES, messages

    return operation


class _State(TypedDict):
    answer: int


def _answered(_state: _State) -> _State:
    return {"answer": 42}


def node() -> Operation:
    building: Any = StateGraph(_State)
    building.add_node("answer", _answered)
    building.add_edge(START, "answer")
    graph = building.compile()

    def operation() -> None:
        assert graph.invoke({"answer": 0}) == {"answer": 42}

    return operation
