"""A LangChain agent on LangGraph: three model calls and two tool calls per run."""

from collections.abc import Callable
from typing import Any, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]

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
