"""An agent of `deepagents`: it has two sub-agents search at once, and keeps a file."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai import serving
from spanhook.testing import recorder
from tests.applications.ledger import Json, Ledger, Turn, called, counted, measured, said, tools_of

pytestmark = pytest.mark.applications
SEARCHED: list[str] = []
TOPICS = ("green tea", "black tea")


@tool
def search(query: str) -> str:
    """Search the library."""
    SEARCHED.append(query)
    return f"what is known of {query}"


def plays(body: Json) -> Turn:
    done = called(body)
    if "search" in tools_of(body):  # a researcher
        topic = next(one for one in TOPICS if one in said(body))
        return f"{topic}: found" if "search" in done else [("search", {"query": topic})]
    if "task" not in done:
        return [("task", {"description": f"find out about {one}", "subagent_type": "researcher"}) for one in TOPICS]
    if "write_file" not in done:
        return [("write_file", {"file_path": "/report.md", "content": "Tea is fine."})]
    return "The report is in /report.md."


def agent_of(ledger: Ledger) -> Any:
    model = ChatOpenAI(
        model="gpt-4o-mini", base_url=serving(ledger), api_key=SecretStr("test"), max_retries=0, stream_usage=True
    )
    researcher: Any = {
        "name": "researcher",
        "description": "Finds things out.",
        "system_prompt": "You are a researcher. Search, then answer.",
        "tools": [search],
    }
    return create_deep_agent(model, [], subagents=[researcher], name="lead")


ASK: Any = {"messages": [{"role": "user", "content": "Write a report on tea."}]}


def invoke(agent: Any) -> Any:
    return agent.invoke(ASK)


def ainvoke(agent: Any) -> Any:
    return asyncio.run(agent.ainvoke(ASK))


def stream(agent: Any) -> Any:
    return list(agent.stream(ASK, stream_mode="values"))[-1]


def astream(agent: Any) -> Any:
    async def main() -> Any:
        last: Any = None
        async for mode, piece in agent.astream(ASK, stream_mode=["values", "messages"]):
            last = piece if mode == "values" else last
        return last

    return asyncio.run(main())


Way = Callable[[Any], Any]
WAYS = pytest.mark.parametrize("way", [invoke, ainvoke, stream, astream])


def facts(state: Any) -> Any:
    told = [
        (type(one).__name__, one.content, sorted(call["name"] for call in getattr(one, "tool_calls", ())))
        for one in state["messages"]
    ]
    return told, sorted(state["files"])


@WAYS
def test_it_is_counted_as_the_provider_bills_it(way: Way) -> None:
    SEARCHED.clear()
    expected = facts(way(agent_of(Ledger(plays))))
    ledger = Ledger(plays)
    agent = agent_of(ledger)
    with recorder() as seen:
        found = facts(way(agent))
    assert found == expected
    assert sorted(SEARCHED) == sorted(2 * TOPICS)
    assert counted(seen) == ledger.totals
    assert measured(seen) == ledger.totals[1:3]
    kinds = Counter((op.kind, op.name) for op in seen.operations if op.kind != "workflow.step")
    assert kinds == {
        ("agent.invoke", "lead"): 1,
        ("agent.invoke", "researcher"): 2,
        ("llm.call", "gpt-4o-mini"): 7,
        ("tool.execute", "task"): 2,
        ("tool.execute", "search"): 2,
        ("tool.execute", "write_file"): 1,
    }
    assert {op.status for op in seen.operations} == {"success"}


@WAYS
def test_a_tool_of_a_sub_agent_is_gated(way: Way) -> None:
    SEARCHED.clear()
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if op.name == "search" and "black" in str(op.request.arguments):
            raise Reject("not this one", status_code=403)

    ledger = Ledger(plays)
    with recorder(hooks) as seen:
        try:
            way(agent_of(ledger))
        except Reject as error:
            assert error.status_code == 403  # noqa: PT017 - tools' refusals may be told to the model as well
    assert SEARCHED in ([], ["green tea"])
    assert "rejected" in {op.status for op in seen.operations if op.name == "search"}
    assert counted(seen)[:3] == ledger.totals[:3]
