"""A supervisor and a swarm, of `langgraph-supervisor` and `langgraph-swarm`, whose agents hand off to each other."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from pydantic import SecretStr

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.testing import recorder
from tests.applications.ledger import Json, Ledger, Turn, called, counted, measured, said, tools_of

pytestmark = [
    pytest.mark.applications,
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved"),  # langgraph-supervisor uses it
]
ADDED: list[tuple[int, int]] = []
ASK: Any = {"messages": [{"role": "user", "content": "What is 2 and 3, and who says so?"}]}
Make = Callable[[str], Any]
Way = Callable[[Any], Any]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    ADDED.append((a, b))
    return a + b


@tool
def cite(claim: str) -> str:
    """Find a source."""
    return f"Euclid on {claim}"


def model_of(url: str) -> Any:
    return ChatAnthropic(
        model_name="claude-haiku-4-5", base_url=url, api_key=SecretStr("test"), max_retries=0, stop=None, timeout=None
    )


def supervisor(url: str) -> Any:
    agents: Any = [
        create_agent(model_of(url), [add], system_prompt="You are the mathematician.", name="mathematician"),
        create_agent(model_of(url), [cite], system_prompt="You are the librarian.", name="librarian"),
    ]
    team = create_supervisor(agents, model=model_of(url), prompt="You are the supervisor.")
    return team.compile(name="team")


def swarm(url: str) -> Any:
    agents: Any = [
        create_agent(
            model_of(url),
            [add, create_handoff_tool(agent_name="librarian")],
            system_prompt="You are the mathematician.",
            name="mathematician",
        ),
        create_agent(model_of(url), [cite], system_prompt="You are the librarian.", name="librarian"),
    ]
    return create_swarm(agents, default_active_agent="mathematician").compile(name="team")


def plays(body: Json) -> Turn:
    """What the agent says whose turn it is, which its system prompt names."""
    text, done, offered = said(body), called(body), tools_of(body)
    if "You are the mathematician" in text:
        if "add" not in done:
            return [("add", {"a": 2, "b": 3})]
        hands_over = "transfer_to_librarian" in offered and "transfer_to_librarian" not in done
        return [("transfer_to_librarian", {})] if hands_over else "It is 5."
    if "You are the librarian" in text:
        return "Euclid says so." if "cite" in done else [("cite", {"claim": "2 + 3 = 5"})]
    for name in ("transfer_to_mathematician", "transfer_to_librarian"):
        if name not in done:
            return [(name, {})]
    return "It is 5, says Euclid."


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    ADDED.clear()
    with AnthropicServer() as running:
        yield running


def invoke(team: Any) -> Any:
    return team.invoke(ASK)


def ainvoke(team: Any) -> Any:
    return asyncio.run(team.ainvoke(ASK))


def stream(team: Any) -> Any:
    return list(team.stream(ASK, stream_mode="values"))[-1]


def facts(state: Any) -> Any:
    return [(type(one).__name__, one.name, one.content) for one in state["messages"]]


TEAMS: dict[str, tuple[Make, dict[tuple[str, str], int]]] = {
    "supervisor": (
        supervisor,
        {
            ("agent.delegate", "mathematician"): 1,
            ("agent.delegate", "librarian"): 1,
            ("llm.call", "claude-haiku-4-5"): 7,
            ("tool.execute", "transfer_to_mathematician"): 1,
            ("tool.execute", "transfer_to_librarian"): 1,
            ("tool.execute", "add"): 1,
            ("tool.execute", "cite"): 1,
        },
    ),
    "swarm": (
        swarm,
        {
            ("agent.delegate", "librarian"): 1,
            ("llm.call", "claude-haiku-4-5"): 4,
            ("tool.execute", "transfer_to_librarian"): 1,
            ("tool.execute", "add"): 1,
            ("tool.execute", "cite"): 1,
        },
    ),
}


@pytest.mark.parametrize("way", [invoke, ainvoke, stream])
@pytest.mark.parametrize("name", TEAMS)
def test_it_is_counted_as_the_provider_bills_it(name: str, way: Way, provider: AnthropicServer) -> None:
    make, expected = TEAMS[name]
    plain = facts(way(make(provider.url_for(Ledger(plays)))))
    ledger = Ledger(plays)
    team = make(provider.url_for(ledger))
    with recorder() as seen:
        found = facts(way(team))
    assert found == plain
    assert ADDED == [(2, 3)] * 2
    assert counted(seen) == ledger.totals
    assert measured(seen) == ledger.totals[1:3]
    kinds = Counter((op.kind, op.name) for op in seen.operations)
    assert {key: n for key, n in kinds.items() if key[0] in ("agent.delegate", "llm.call", "tool.execute")} == expected
    assert {op.status for op in seen.operations} == {"success"}
    assert {op.identity.run_id for op in seen.operations} == {seen.operations[-1].identity.run_id}


@pytest.mark.parametrize("way", [invoke, ainvoke, stream])
@pytest.mark.parametrize("name", TEAMS)
def test_hand_offs_are_gated(name: str, way: Way, provider: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        if op.name == "librarian":
            raise Reject("the library is closed", status_code=403)

    ledger = Ledger(plays)
    make, _ = TEAMS[name]
    with recorder(hooks) as seen:
        try:
            way(make(provider.url_for(ledger)))
        except Reject as error:
            assert error.status_code == 403  # noqa: PT017 - a refused hand-off may be told to the model as well
    handed = [op.status for op in seen.operations if (op.kind, op.name) == ("agent.delegate", "librarian")]
    assert handed[:1] == ["rejected"]
    assert not [op for op in seen.operations if op.name == "cite"]
    assert counted(seen)[:3] == ledger.totals[:3]
