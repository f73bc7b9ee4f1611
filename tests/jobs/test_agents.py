import functools
import re
from pathlib import Path
from typing import Any, TypedDict

import pytest

import spanhook
from spanhook import Hooks, Operation
from spanhook.errors import ConfigurationError, Reject
from spanhook.jobs import Agent, load_agent
from spanhook.jobs.agents import thread_of
from spanhook.testing import recorder

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


async def calls_a_tool(value: Any) -> Any:
    return await look_up(value)


async def streams(value: Any) -> Any:
    yield await look_up(value)
    yield "!"


@spanhook.tool
async def look_up(value: Any) -> str:
    return f"found {value}"


@spanhook.agent("its own name")
async def decorated(value: Any) -> Any:
    return await look_up(value)


@functools.wraps(decorated)
async def wrapped(value: Any) -> Any:
    return await decorated(value)


@pytest.mark.parametrize(
    ("target", "name", "result"),
    [
        (calls_a_tool, "support", "found 1"),
        (streams, "support", "found 1!"),
        (decorated, "its own name", "found 1"),
        (wrapped, "its own name", "found 1"),
    ],
)
async def test_a_function_is_an_agent_with_its_name(target: Any, name: str, result: str) -> None:
    hooks, seen = Hooks(), list[tuple[str, str]]()
    for event in ("agent:start", "tool:execute", "agent:end"):
        hooks.on(event, lambda event: seen.append((event.alias, event.agent_name)))
    with recorder(hooks, only=()) as seen_spans:
        assert await Agent("support", target).run(1, "", lambda *_: None) == result
        hooks.flush(60.0)
    # Between subscriptions there is no order.
    assert sorted(seen) == [(event, name) for event in ("agent:end", "agent:start", "tool:execute")]
    assert [op.kind for op in seen_spans.operations] == ["tool.execute", "agent.invoke"]


@pytest.mark.parametrize("target", [calls_a_tool, streams])
async def test_hooks_gate_a_function_that_is_served(target: Any) -> None:
    hooks, published = Hooks(), list[Any]()

    @hooks.before("agent.invoke", names={"support"}, priority=1)
    def rewrites(op: Operation) -> None:
        if op.request.inputs == "refuse":
            raise Reject("not now", status_code=402)
        op.replace(inputs=f"{op.request.inputs} rewritten")

    @hooks.after("agent.invoke")
    def shouts(op: Operation) -> None:
        published.append(op.result)

    def publish(_type: str, data: Any) -> None:
        published.append(data["text"])

    with recorder(hooks, only=()):
        agent = Agent("support", target)
        assert str(await agent.run("x", "", publish)).startswith("found x rewritten")
        with pytest.raises(Reject, match="not now"):
            await agent.run("refuse", "", publish)
    assert published == (
        ["found x rewritten"] if target is calls_a_tool else ["found x rewritten", "!", "found x rewritten!"]
    )


@pytest.mark.parametrize("target", [3, lambda given: given, print])
def test_what_cannot_be_served_is_refused(target: Any) -> None:
    with pytest.raises(ConfigurationError, match="agent 'a'"):
        Agent("a", target)


async def two(given: Any, config: Any) -> None: ...


async def named(*, given: Any) -> None: ...


async def nothing() -> None: ...


class Two:
    async def __call__(self, given: Any, config: Any) -> None: ...


@pytest.mark.parametrize(
    ("target", "takes"),
    [(two, "(given: Any, config: Any)"), (named, "(*, given: Any)"), (nothing, "()"), (Two(), "(given: Any, config")],
)
def test_what_one_argument_is_not_enough_for_is_refused(target: Any, takes: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f"takes {takes}")):
        Agent("a", target)


def test_what_can_be_called_with_one_argument_is_served() -> None:
    @functools.wraps(two)
    async def given_the_rest(given: Any) -> None:
        await two(given, {})

    async def with_more(given: Any, *more: Any, config: Any = None, **others: Any) -> None: ...

    for target in (given_the_rest, with_more, spanhook.agent("b")(with_more)):
        Agent("a", target)


def test_a_target_that_cannot_be_loaded_is_said_to_be_an_agent(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import nothing_like_it")
    (tmp_path / "fine.py").write_text("graph = 1")
    for spec, said in (
        (f"{tmp_path}/app.py:graph", "cannot be imported: No module named 'nothing_like_it'"),
        (f"{tmp_path}/gone.py:graph", "gone.py does not exist"),
        (f"{tmp_path}/fine.py:gone", "has no 'gone'"),
        ("nothing_like_it:graph", "the module 'nothing_like_it' does not exist"),
        ("./app.py", "expected path/to/app.py:graph"),
    ):
        with pytest.raises(ConfigurationError) as raised:
            load_agent("support", spec)
        assert str(raised.value).startswith(f"agent 'support': '{spec}'"), raised.value
        assert said in str(raised.value)


def test_no_tenant_can_name_the_conversation_of_another() -> None:
    asked = [("", "s"), ("", "acme/s"), ("", "/s"), ("acme", "s"), ("acme", "x/s"), ("acme/x", "s"), ("ac", "me/s")]
    assert len({thread_of(*one) for one in asked}) == len(asked)
    assert thread_of("", "s") == "s"
    assert thread_of("acme", "") == ""
