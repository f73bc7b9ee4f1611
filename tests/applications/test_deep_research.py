"""Deep research as it is mostly made: a plan in a structure, researchers at once, summaries by a second provider."""

import asyncio
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel, SecretStr

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.openai import serving
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.testing import recorder
from tests.applications.ledger import Json, Ledger, Turn, called, counted, measured, said

pytestmark = pytest.mark.applications
TOPICS = ("growing", "brewing", "trading")
READ: list[str] = []


class Plan(BaseModel):
    """What to look into."""

    topics: list[str]


class State(TypedDict):
    question: str
    topics: list[str]
    findings: Annotated[list[str], operator.add]
    report: str


class Topic(TypedDict):
    topic: str


@tool
def fetch(page: str) -> str:
    """Fetch a page."""
    READ.append(page)
    return f"a long page on {page}"


def openai_plays(body: Json) -> Turn:
    text = said(body)
    if "Plan research" in text:
        return [("Plan", {"topics": list(TOPICS)})]
    if "You research" in text:
        topic = next(one for one in TOPICS if f"on {one}" in text)
        return f"much on {topic}" if "fetch" in called(body) else [("fetch", {"page": topic})]
    return "A report on tea."


def anthropic_plays(body: Json) -> Turn:
    return "short: " + next(one for one in TOPICS if one in said(body))


class Application:
    """The application, and the ledgers of its two providers."""

    def __init__(self, anthropic: AnthropicServer) -> None:
        self.ledgers = Ledger(openai_plays), Ledger(anthropic_plays)
        self._chat = ChatOpenAI(
            model="gpt-4o-mini",
            base_url=serving(self.ledgers[0]),
            api_key=SecretStr("test"),
            max_retries=0,
            stream_usage=True,
        )
        self._short = ChatAnthropic(
            model_name="claude-haiku-4-5",
            base_url=anthropic.url_for(self.ledgers[1]),
            api_key=SecretStr("test"),
            max_retries=0,
            stop=None,
            timeout=None,
        )
        self._researcher = create_agent(self._chat, [fetch], system_prompt="You research one topic.", name="researcher")
        graph = StateGraph(State)
        graph.add_node("plan", self._plan)
        graph.add_node("research", self._research)
        graph.add_node("write", self._write)
        graph.add_edge(START, "plan")
        graph.add_conditional_edges("plan", lambda state: [Send("research", {"topic": one}) for one in state["topics"]])
        graph.add_edge("research", "write")
        graph.add_edge("write", END)
        self.graph = graph.compile(name="deep-research")

    async def _plan(self, state: State) -> Any:
        planner: Any = self._chat.with_structured_output(Plan, method="function_calling")
        plan = await planner.ainvoke(f"Plan research: {state['question']}")
        return {"topics": plan.topics}

    async def _research(self, state: Topic) -> Any:
        asked: Any = {"messages": [{"role": "user", "content": f"on {state['topic']}"}]}
        found = await self._researcher.ainvoke(asked)
        short = await self._short.ainvoke(f"Shorten: {found['messages'][-1].content}")
        return {"findings": [str(short.content)]}

    async def _write(self, state: State) -> Any:
        text = ""
        async for chunk in self._chat.astream("Write: " + "; ".join(sorted(state["findings"]))):
            text += str(chunk.content)
        return {"report": text}

    @property
    def totals(self) -> tuple[int, ...]:
        """What both providers bill together."""
        return tuple(map(sum, zip(*(one.totals for one in self.ledgers), strict=True)))


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    READ.clear()
    with AnthropicServer() as running:
        yield running


ASK: Any = {"question": "What of tea?", "findings": []}


def ainvoke(graph: Any) -> Any:
    return asyncio.run(graph.ainvoke(ASK))


def astream(graph: Any) -> Any:
    async def main() -> Any:
        last: Any = None
        async for mode, piece in graph.astream(ASK, stream_mode=["values", "messages"]):
            last = piece if mode == "values" else last
        return last

    return asyncio.run(main())


def facts(state: Any) -> Any:
    return {**state, "findings": sorted(state["findings"])}


WAYS = pytest.mark.parametrize("way", [ainvoke, astream])
Way = Callable[[Any], Any]


@WAYS
def test_it_is_counted_as_both_providers_bill_it(way: Way, provider: AnthropicServer) -> None:
    plain = facts(way(Application(provider).graph))
    application = Application(provider)
    with recorder() as seen:
        found = facts(way(application.graph))
    assert found == plain
    assert sorted(READ) == sorted(2 * TOPICS)
    assert counted(seen) == application.totals
    assert measured(seen) == application.totals[1:3]
    kinds = Counter((op.kind, op.name) for op in seen.operations if op.kind != "workflow.step")
    assert kinds == {
        ("agent.invoke", "deep-research"): 1,
        ("agent.invoke", "researcher"): 3,
        ("llm.call", "gpt-4o-mini"): 8,
        ("llm.call", "claude-haiku-4-5"): 3,
        ("tool.execute", "fetch"): 3,
    }
    by_model = {
        name.partition("-20")[0]: used.input_tokens for name, used in seen.operations[-1].usage.by_model.items()
    }
    assert by_model == {
        "gpt-4o-mini": application.ledgers[0].totals[1],
        "claude-haiku-4-5": application.ledgers[1].totals[1],
    }


@WAYS
def test_what_hooks_change_arrives_in_every_branch(way: Way, provider: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.around("tool.execute")
    async def shorten(op: Operation, call_next: Any) -> Any:
        await call_next()
        return "no page"

    application = Application(provider)
    with recorder(hooks) as seen:
        way(application.graph)
    assert len(READ) == 3
    told = [one.body for one in application.ledgers[0] if "fetch" in called(one.body)]
    assert len(told) == 3
    assert all("no page" in said(body) and "a long page" not in said(body) for body in told)
    assert counted(seen) == application.totals
