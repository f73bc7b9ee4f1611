"""What a graph that is served gets: text as a message, or a refusal that names what it takes."""

from typing import Any, TypedDict

import pytest

from spanhook import Reject
from spanhook.jobs import Agent

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_text_is_a_message_to_a_graph_that_keeps_messages() -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not in every environment")

    def answer(state: Any) -> Any:
        return {"messages": [("ai", f"{len(state['messages'])}: {state['messages'][-1].content}")]}

    graph = graphs.StateGraph(graphs.MessagesState).add_node("a", answer).set_entry_point("a").compile()
    agent = Agent("a", graph)
    for value in ("Where is it?", {"messages": [{"role": "user", "content": "Where is it?"}]}):
        state = await agent.run(value, "", lambda *_: None)
        assert [(one["type"], one["content"]) for one in state["messages"]] == [
            ("human", "Where is it?"),
            ("ai", "1: Where is it?"),
        ]
    with pytest.raises(Reject, match=r'The input is a list, but the agent takes {"messages": ...}, or text$') as caught:
        await agent.run(["Where is it?"], "", lambda *_: None)
    assert caught.value.status_code == 422


async def test_a_text_is_a_message_to_an_agent_of_langchain() -> None:
    agents = pytest.importorskip("langchain.agents", reason="langchain is not in every environment")
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models", reason="nor is langchain-core")
    graph = agents.create_agent(models.FakeListChatModel(responses=["On its way."]))
    state = await Agent("a", graph).run("Where is it?", "", lambda *_: None)
    assert [one["content"] for one in state["messages"]] == ["Where is it?", "On its way."]


async def test_a_graph_without_messages_says_what_it_takes() -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not in every environment")
    func = pytest.importorskip("langgraph.func", reason="langgraph is not in every environment")

    class State(TypedDict):
        question: str
        language: str

    graph = graphs.StateGraph(State).add_node("a", lambda state: state).set_entry_point("a").compile()
    with pytest.raises(Reject, match=r'The input is text, but the agent takes {"question": ..., "language": ...}$'):
        await Agent("a", graph).run("Where is it?", "", lambda *_: None)

    @func.entrypoint()
    async def workflow(question: Any) -> Any:
        return [question]

    assert await Agent("a", workflow).run("Where is it?", "", lambda *_: None) == ["Where is it?"]
