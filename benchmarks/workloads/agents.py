"""An agent of LangChain's on LangGraph: three model calls and two tool calls per run."""

from typing import Any

from langchain.agents import create_agent

from benchmarks.workloads import Operation
from benchmarks.workloads.models import TOOLS, Scripted

INPUT: Any = {"messages": [{"role": "user", "content": "What is 6*7?"}]}
MESSAGES = 6


def _agent() -> Any:
    return create_agent(Scripted(), tools=TOOLS, system_prompt="You are a helpful assistant.", name="bench_agent")


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
