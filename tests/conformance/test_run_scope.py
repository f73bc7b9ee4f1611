"""A rejection of the whole run gets through everything that frameworks put in the way of exceptions."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

import anyio
import pytest
from langchain.agents import middleware as middlewares
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain import WAYS, Calls, Turns, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import Recorder, recorder
from tests.thinning import a_fifth


def stopping(kind: str, **settings: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before(kind, **settings)
    def stop(op: Operation) -> None:
        raise Reject("run stopped", status_code=429, scope="run")

    return hooks


def expect_stopped(use: Callable[[], Any]) -> None:
    with pytest.raises(Reject, match="run stopped") as caught:
        settle(use())
    assert type(caught.value) is Reject
    assert caught.value.scope == "run"
    assert caught.value.status_code == 429


def expect_one_decision(seen: Recorder) -> None:
    """Exactly one span carries the decision; what comes after it in the run is refused as its consequence."""
    deciding = [span for span in seen.spans if "spanhook.decision" in (span.attributes or {})]
    assert len(deciding) == 1
    root = next(op for op in seen.operations if op.parent is None)
    assert root.status == "rejected"


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_whose_tool_is_refused_for_the_run(way: str) -> None:
    calls = Calls()
    with recorder(stopping("tool.execute", names={"refund"})) as seen:
        expect_stopped(lambda: consume(agent(calls), way))
    assert calls.made == ["search"]
    expect_one_decision(seen)
    assert [op.kind for op in seen.operations].count("llm.call") == 2


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_whose_tool_is_refused_for_the_operation_goes_on(way: str) -> None:
    calls = Calls()
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"})
    def paying_only(op: Operation) -> None:
        raise Reject("an active subscription is required", status_code=402)

    with recorder(hooks) as seen:
        settle(consume(agent(calls), way))
    assert calls.made == ["search"]
    statuses = {(op.kind, op.name): op.status for op in seen.operations}
    assert statuses["tool.execute", "refund"] == "rejected"
    assert statuses["agent.invoke", "helper"] == "success"
    model = [op for op in seen.operations if op.kind == "llm.call"]
    assert len(model) == 3
    last = model[-1].request.messages[-1]
    assert last["role"] == "tool"
    assert "an active subscription is required" in last["parts"][0]["response"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.skipif(not hasattr(middlewares, "ModelRetryMiddleware"), reason="LangChain 1.0 has no retry middleware")
@pytest.mark.parametrize("middleware", ["model", "tool"])
def test_retry_middleware(way: str, middleware: str) -> None:
    calls = Calls()
    retry = (
        middlewares.ModelRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False, on_failure="continue")
        if middleware == "model"
        else middlewares.ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False, on_failure="continue")
    )
    kind = "llm.call" if middleware == "model" else "tool.execute"
    with recorder(stopping(kind)) as seen:
        expect_stopped(lambda: consume(agent(calls, middleware=[retry]), way))
    assert calls.made == []
    expect_one_decision(seen)
    assert [op.kind for op in seen.operations].count(kind) == 1


@pytest.mark.parametrize("way", WAYS)
def test_fallback_middleware(way: str) -> None:
    calls, others = Calls(), [Turns(turns=["other"], model_name=name, asked=[]) for name in ("o3", "gpt-4o")]
    fallback = middlewares.ModelFallbackMiddleware(others[0], others[1])
    with recorder(stopping("llm.call", models={"gpt-4o-mini"})) as seen:
        expect_stopped(lambda: consume(agent(calls, middleware=[fallback]), way))
    assert [model.asked for model in others] == [[], []]
    expect_one_decision(seen)
    assert {op.status for op in seen.operations if op.kind == "llm.call"} == {"rejected"}


class State(TypedDict, total=False):
    value: str


def _graph(node: Any, *, is_async: bool = False, parallel: int = 0, **options: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("first", node, **options)
    builder.add_edge(START, "first")
    for number in range(parallel):
        builder.add_node(f"beside{number}", node, **options)
        builder.add_edge(START, f"beside{number}")
    builder.add_edge("first", END)
    return builder.compile(name="made by hand")


def _nodes(model: Any) -> dict[str, Any]:
    """Nodes that swallow whatever they can."""

    def plain(state: State) -> State:
        model.invoke("hi")
        return {}

    async def aplain(state: State) -> State:
        await model.ainvoke("hi")
        return {}

    def swallowing(state: State) -> State:
        for _ in range(3):
            try:
                model.invoke("hi")
            except Exception:
                continue
        return {}

    def pool(state: State) -> State:
        import contextvars

        with ThreadPoolExecutor(2) as workers:
            futures = [workers.submit(contextvars.copy_context().run, model.invoke, "hi") for _ in range(4)]
            for future in futures:
                future.exception()
        return {}

    async def gathering(state: State) -> State:
        await asyncio.gather(*(model.ainvoke("hi") for _ in range(4)), return_exceptions=True)
        await model.ainvoke("hi")
        return {}

    async def group(state: State) -> State:
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(3):
                    tasks.create_task(model.ainvoke("hi"))
        except* Exception:
            pass
        return {}

    async def nursery(state: State) -> State:
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(model.ainvoke, "hi")
        except* Exception:
            pass
        return {}

    async def nested(state: State) -> State:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(nursery(state))
                tasks.create_task(group(state))
        except* Exception:
            pass
        await model.ainvoke("hi")
        return {}

    def retried(state: State) -> State:
        model.with_retry(stop_after_attempt=4, wait_exponential_jitter=False).invoke("hi")
        return {}

    def fallback(state: State) -> State:
        model.with_fallbacks([model, model]).invoke("hi")
        return {}

    def batched(state: State) -> State:
        model.batch(["a", "b"], return_exceptions=True)
        RunnableLambda(lambda text: model.invoke(text)).batch(["a", "b"], return_exceptions=True)
        return {}

    return {
        "plain": plain,
        "aplain": aplain,
        "swallowing": swallowing,
        "pool": pool,
        "gathering": gathering,
        "group": group,
        "nursery": nursery,
        "nested": nested,
        "retried": retried,
        "fallback": fallback,
        "batched": batched,
    }


ASYNC_NODES = {"aplain", "gathering", "group", "nursery", "nested"}  # LangGraph runs these from its async methods alone
EVERY_WAY = [way for way in WAYS if way in ("invoke", "ainvoke", "stream", "astream", "events", "v3", "av3")]
SWALLOWING = [
    (node, way)
    for node in _nodes(None)
    for way in EVERY_WAY
    if node not in ASYNC_NODES or way.startswith("a") or way == "events"
]


@pytest.mark.parametrize(("node", "way"), a_fifth(pytest.param(*one) for one in SWALLOWING))
@pytest.mark.parametrize("retries", [False, True], ids=["", "retry policy"])
def test_graphs_that_swallow(node: str, way: str, retries: bool) -> None:
    body = Body()
    policy: Any = {"retry_policy": RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=Exception)}
    graph = _graph(_nodes(ScriptedChat(body=body))[node], **(policy if retries else {}))
    with recorder(stopping("llm.call")) as seen:
        expect_stopped(lambda: consume(graph, way, {"value": "x"}))
    assert body.runs == 0
    assert next(op for op in seen.operations if op.parent is None).status == "rejected"
    assert all(op.status == "rejected" for op in seen.operations if op.kind == "llm.call")


@pytest.mark.parametrize("way", EVERY_WAY)
def test_parallel_nodes(way: str) -> None:
    body = Body()
    graph = _graph(_nodes(ScriptedChat(body=body))["plain"], parallel=4)
    with recorder(stopping("llm.call")) as seen:
        expect_stopped(lambda: consume(graph, way, {"value": "x"}))
    assert body.runs == 0
    assert sum("spanhook.decision" in (span.attributes or {}) for span in seen.spans) >= 1


@pytest.mark.parametrize("way", EVERY_WAY)
def test_no_later_call_of_the_run_is_made(way: str) -> None:
    """A node that catches everything, BaseException included, gets no further."""
    body = Body()
    model = ScriptedChat(body=body)
    hooks = Hooks()

    @hooks.before("llm.call")
    def third(op: Operation) -> None:
        if body.runs >= 2:
            raise Reject("run stopped", status_code=429, scope="run")

    told: list[tuple[str, int]] = []

    @hooks.on_error("llm.call")
    def tell(op: Operation) -> None:
        assert isinstance(op.error, Reject)
        told.append((op.error.reason, op.error.status_code))

    def stubborn(state: State) -> State:
        for _ in range(6):
            try:
                model.invoke("hi")
            except BaseException:
                continue
        return {}

    with recorder(hooks) as seen:
        expect_stopped(lambda: consume(_graph(stubborn), way, {"value": "x"}))
    assert body.runs == 2
    assert told == [("run stopped", 429)] * 4
    expect_one_decision(seen)
    assert [op.status for op in seen.operations if op.kind == "llm.call"] == ["success"] * 2 + ["rejected"] * 4


@pytest.mark.skipif(
    "error_handler" not in inspect.signature(StateGraph.add_node).parameters,
    reason="this version of LangGraph has no error handlers of nodes",
)
@pytest.mark.parametrize("way", EVERY_WAY)
@pytest.mark.parametrize("retries", [False, True], ids=["", "retry policy"])
def test_error_handlers_of_nodes(way: str, retries: bool) -> None:
    """LangGraph may hand them what stops a run; they get no further with it."""
    body = Body()
    model = ScriptedChat(body=body)

    def handler(state: State) -> State:
        model.invoke("hi")
        return {"value": "recovered"}

    policy: Any = {"retry_policy": RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=Exception)}
    graph = _graph(_nodes(model)["plain"], error_handler=handler, **(policy if retries else {}))
    with recorder(stopping("llm.call")) as seen:
        expect_stopped(lambda: consume(graph, way, {"value": "x"}))
    assert body.runs == 0
    expect_one_decision(seen)


def test_error_handlers_of_tool_nodes() -> None:
    calls = Calls()
    node = ToolNode(calls.tools(), handle_tool_errors=lambda error: f"handled {error}")
    state_schema: Any = dict
    builder: Any = StateGraph(state_schema)
    builder.add_node("tools", node)
    model = Turns(turns=[[("refund", {"amount": 5})], "done"], asked=[])

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [model.invoke("refund me")]}

    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "tools")
    builder.add_edge("tools", END)
    with recorder(stopping("tool.execute")) as seen:
        expect_stopped(lambda: builder.compile().invoke({}))
    assert calls.made == []
    expect_one_decision(seen)


def test_the_outermost_operation_itself_refused() -> None:
    calls = Calls()
    with recorder(stopping("agent.invoke")) as seen:
        for way in WAYS:
            expect_stopped(lambda way=way: consume(agent(calls), way))
    assert calls.made == []
    assert {op.kind for op in seen.operations} == {"agent.invoke"}


def test_a_lone_call_is_its_own_run() -> None:
    body = Body()
    with recorder(stopping("llm.call")):
        expect_stopped(lambda: ScriptedChat(body=body).invoke("hi"))
        expect_stopped(lambda: ScriptedChat(body=body).with_retry(stop_after_attempt=2).invoke("hi"))
    assert body.runs == 0


def test_a_call_that_outlives_its_run_raises_the_plain_rejection() -> None:
    """A task that goes on after its run has ended finds nobody to convert what only runs understand."""
    body = Body()
    model = ScriptedChat(body=body)
    left: list[asyncio.Task[Any]] = []
    go = asyncio.Event()

    async def detached() -> Any:
        await go.wait()
        return await model.ainvoke("hi")

    async def leaving(state: State) -> State:
        left.append(asyncio.create_task(detached()))
        return {}

    async def main() -> None:
        await _graph(leaving).ainvoke({"value": "x"})
        go.set()
        with pytest.raises(Reject, match="run stopped"):
            await left[0]

    with recorder(stopping("llm.call")):
        asyncio.run(main())
    assert body.runs == 0


def test_what_goes_on_after_a_cancelled_run_changes_nothing_of_it() -> None:
    """A thread cannot be cancelled: what it does later is gated and told of, and the run stays cancelled."""
    body = Body()
    model = ScriptedChat(body=body)
    go, done = threading.Event(), threading.Event()
    refused: list[str] = []

    @tool
    def slow(query: str) -> str:
        """Take long, then ask the model."""
        reached.set()
        go.wait(60.0)
        try:
            model.invoke("hi")
        except Reject as reject:
            refused.append(reject.reason)
        done.set()
        return "completed"

    async def act(state: State) -> State:
        return {"value": await slow.ainvoke({"query": "x"})}

    async def main() -> None:
        task = asyncio.create_task(_graph(act).ainvoke({"value": "x"}))
        assert await asyncio.to_thread(reached.wait, 20.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [op.status for op in seen.operations if op.kind == "agent.invoke"] == ["cancelled"]
        go.set()
        assert await asyncio.to_thread(done.wait, 20.0)

    reached = threading.Event()
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen:
        asyncio.run(main())
        spans = [(span.name, (span.attributes or {})["spanhook.status"]) for span in seen.spans]
        runs = [
            e["attributes"]["spanhook.status"]
            for e in seen.events
            if e["attributes"]["spanhook.target"] == "made by hand"
        ]
    assert refused == ["no"]
    assert body.runs == 0
    assert spans.count(("invoke_agent made by hand", "cancelled")) == 1
    assert [status for name, status in spans if name.startswith("invoke_agent")] == ["cancelled"]
    assert sorted(name for name, _ in spans) == [
        "chat gpt-4o-mini",
        "execute_tool slow",
        "invoke_agent made by hand",
    ]
    assert runs == ["cancelled"]


def test_cancellation_is_not_hidden_by_a_rejected_run() -> None:
    """A run that was refused and is cancelled from outside ends cancelled: its caller asked for that."""
    body = Body()
    model = ScriptedChat(body=body)
    reached = asyncio.Event()

    async def stubborn(state: State) -> State:
        try:
            await model.ainvoke("hi")
        except BaseException:
            reached.set()
        await asyncio.Event().wait()
        return {}

    async def main() -> None:
        task = asyncio.create_task(_graph(stubborn).ainvoke({"value": "x"}))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(stopping("llm.call")) as seen:
        asyncio.run(main())
    assert [op.status for op in seen.operations if op.parent is None] == ["cancelled"]


def test_what_outlives_the_run_is_refused_too() -> None:
    """``gather`` does not wait for the others when one fails."""
    ran: list[str] = []

    @tool
    async def refused() -> str:
        """Refused."""
        return ""

    @tool
    async def later() -> str:
        """Called after the run has ended."""
        ran.append("later")
        return ""

    async def main() -> None:
        ended, late = asyncio.Event(), list[asyncio.Task[Any]]()

        async def slow() -> Any:
            await ended.wait()
            return await later.ainvoke({})

        async def node(state: Any) -> Any:
            late.append(asyncio.create_task(slow()))
            await asyncio.gather(refused.ainvoke({}), late[0])

        graph: Any = StateGraph(State)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        with pytest.raises(Reject, match="run stopped"):
            await graph.compile().ainvoke({})
        ended.set()
        with pytest.raises(Reject, match="run stopped"):
            await late[0]

    with recorder(stopping("tool.execute", names={"refused"})):
        asyncio.run(main())
    assert ran == []
