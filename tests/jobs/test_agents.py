from typing import Any, TypedDict

import pytest

from spanhook.errors import ConfigurationError
from spanhook.jobs import Agent
from spanhook.jobs.agents import thread_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def plain_function(given: Any) -> Any:
    return {"given": given, "bytes": b"x"}


class Callable:
    async def __call__(self, given: Any) -> Any:
        return given


async def test_async_callables_are_served() -> None:
    told: list[Any] = []
    assert await Agent("a", plain_function).run(1, "", lambda *one: told.append(one)) == {"given": 1, "bytes": "eA=="}
    assert await Agent("a", Callable()).run([1], "", lambda *one: told.append(one)) == [1]
    assert told == []


async def test_graphs_are_served_with_the_text_that_their_models_stream() -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not in every environment")
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models", reason="nor is langchain-core")

    class State(TypedDict):
        question: str
        answer: str

    model = models.GenericFakeChatModel(messages=iter(["forty two"]))

    async def think(state: State) -> dict[str, Any]:
        return {"answer": (await model.ainvoke(state["question"])).content}

    graph = graphs.StateGraph(State).add_node("think", think).set_entry_point("think").compile()
    told: list[tuple[str, Any]] = []
    agent = Agent("a", graph)
    answer = await agent.run({"question": "what?"}, "t", lambda what, data: told.append((what, data)))
    assert answer == {"question": "what?", "answer": "forty two"}
    assert "".join(data["text"] for _, data in told) == "forty two"


@pytest.mark.parametrize("target", [3, lambda given: given, print])
def test_what_cannot_be_served_is_refused(target: Any) -> None:
    with pytest.raises(ConfigurationError, match="agent 'a'"):
        Agent("a", target)


def test_no_tenant_can_name_the_conversation_of_another() -> None:
    asked = [("", "s"), ("", "acme/s"), ("", "/s"), ("acme", "s"), ("acme", "x/s"), ("acme/x", "s"), ("ac", "me/s")]
    assert len({thread_of(*one) for one in asked}) == len(asked)
    assert thread_of("", "s") == "s"
    assert thread_of("acme", "") == ""
