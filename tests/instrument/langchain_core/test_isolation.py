"""Hooks in shadow mode reach nothing of the run through what LangChain and LangGraph pass on in the context."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from spanhook import Hooks, Operation
from spanhook.gating import isolating
from spanhook.testing import recorder


def legs(hooks: Hooks) -> list[Any]:
    """What a tool that asks a person twice comes to, leg by leg."""

    @tool
    def ask(x: int) -> str:
        """Ask twice."""
        hooks.flush(30.0)
        first = interrupt("first")
        hooks.flush(30.0)
        return f"{first}-{interrupt('second')}"

    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([ask]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    call = AIMessage("", tool_calls=[{"name": "ask", "args": {"x": 1}, "id": "1"}])
    seen: list[Any] = []
    for given in ({"messages": [call]}, Command(resume="A"), Command(resume="B")):
        state = compiled.invoke(given, config)
        waiting = [one.value for one in state.get("__interrupt__", ())]
        seen.append(waiting or state["messages"][-1].content)
    return seen


def before(op: Operation) -> None:
    interrupt("shadow")


def around(op: Operation) -> Iterator[None]:
    interrupt("shadow")
    yield


@pytest.mark.parametrize("form", ["before", "around"])
def test_an_interrupt_in_shadow_takes_nobodys_answer(form: str) -> None:
    hooks = Hooks()
    getattr(hooks, form)("tool.execute", mode="shadow", timeout=None)({"before": before, "around": around}[form])
    with recorder(hooks) as seen:
        assert legs(hooks) == [["first"], ["second"], "A-B"]
        hooks.flush(30.0)
    told = [[one.decision for one in op.shadow_decisions] for op in seen.operations if op.kind == "tool.execute"]
    assert told == [["pause"]] * 3


def test_nothing_is_written_to_the_stream_of_the_run() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", mode="shadow", timeout=None)
    def write(op: Operation) -> None:  # pyright: ignore[reportUnusedFunction]
        get_stream_writer()("from the shadow")

    @tool
    def work(x: int) -> str:
        """Work."""
        hooks.flush(30.0)
        return "done"

    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([work]))
    graph.add_edge(START, "tools")
    call = AIMessage("", tool_calls=[{"name": "work", "args": {"x": 1}, "id": "1"}])
    with recorder(hooks) as seen:
        assert list(graph.compile().stream({"messages": [call]}, stream_mode="custom")) == []
        hooks.flush(30.0)
    [op] = [op for op in seen.operations if op.kind == "tool.execute"]
    assert [one.decision for one in op.shadow_decisions] == ["error"]


def test_callbacks_of_the_run_are_not_told_of_what_a_shadow_calls() -> None:
    hooks, told = Hooks(), list[str]()

    class Handler(BaseCallbackHandler):
        def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
            told.append(serialized["name"])

    @tool
    def judge(x: int) -> str:
        """Judge."""
        return "fine"

    @hooks.before("tool.execute", names={"work"}, mode="shadow", timeout=None)
    def ask(op: Operation) -> None:  # pyright: ignore[reportUnusedFunction]
        judge.invoke({"x": 1})

    @tool
    def work(x: int) -> str:
        """Work."""
        hooks.flush(30.0)
        return "done"

    with recorder(hooks):
        chain = RunnableLambda(lambda x: work.invoke({"x": x}))
        assert chain.invoke(1, {"callbacks": [Handler()]}) == "done"
        hooks.flush(30.0)
    assert told == ["work"]


def test_it_goes_with_the_libraries() -> None:
    with recorder():
        assert isolating
    assert not isolating
