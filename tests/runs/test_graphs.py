"""Hooks of runs on LangGraph: once per run and leg, told of what the server knows, refusing before anything runs."""

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain import ASK, WAYS, Calls, Turns, agent, consume, create
from spanhook.cli.conformance.subject import settle
from spanhook.runs import RejectRun, RunContext, RunHooks, run_scope
from spanhook.testing import recorder


class State(TypedDict, total=False):
    value: str
    said: Annotated[list[str], operator.add]


def graph(node: Callable[[State], Any], **options: Any) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(name="worker", **options)


def works(state: State) -> State:
    return {"value": f"{state.get('value')} done"}


class Told:
    """Notes what hooks of runs are told."""

    def __init__(self) -> None:
        self.hooks = RunHooks()
        self.calls: list[tuple[str, RunContext]] = []
        self.hooks.before_run(self._noting("before"))
        self.hooks.after_run(self._noting("after"))
        self.hooks.on_run_error(self._noting("error"))

    def _noting(self, which: str) -> Any:
        async def note(ctx: RunContext) -> None:
            await asyncio.sleep(0)
            self.calls.append((which, ctx))

        note.__name__ = which
        return note

    @property
    def order(self) -> list[str]:
        return [which for which, _ in self.calls]

    def only(self, which: str) -> RunContext:
        (found,) = (ctx for name, ctx in self.calls if name == which)
        return found


# ------------------------------------------------------------------------------------------------ once


@pytest.mark.parametrize("way", WAYS)
def test_hooks_fire_once_per_run_however_it_is_started(way: str) -> None:
    told = Told()
    with recorder(told.hooks):
        settle(consume(agent(Calls()), way))
    assert told.order == ["before", "after"]
    assert told.only("after").status == "success"
    assert told.only("after").graph_id == "helper"


@pytest.mark.parametrize("way", WAYS)
def test_a_rejected_run_runs_nothing_and_fires_no_other_hook(way: str) -> None:
    told, calls = Told(), Calls()

    @told.hooks.before_run
    async def refuse(ctx: RunContext) -> None:
        raise told.hooks.RejectRun("Active subscription required", status_code=402)

    with recorder(told.hooks) as seen, pytest.raises(RejectRun) as caught:
        settle(consume(agent(calls), way))
    assert (type(caught.value).__name__, caught.value.message) == ("RejectRun", "Active subscription required")
    assert (caught.value.status_code, caught.value.scope) == (402, "run")
    assert (told.order, calls.made) == (["before"], [])
    assert [(op.status, [one.decision for one in op.decisions]) for op in seen.operations] == [("rejected", ["reject"])]


def test_subgraphs_and_graphs_in_tools_are_no_runs_of_their_own() -> None:
    told = Told()
    inner = graph(works)
    with recorder(told.hooks):
        graph(lambda state: inner.invoke(state)).invoke({"value": "x"})
    assert told.order == ["before", "after"]


def test_steps_of_a_graph_are_no_operations_for_hooks_of_runs() -> None:
    told = Told()
    with recorder(told.hooks) as seen:
        graph(works).invoke({"value": "x"})
    assert [op.kind for op in seen.operations] == ["agent.invoke"]


def test_a_server_that_streams_a_graph_in_a_scope_of_its_own_is_one_run() -> None:
    """As Aegra does: the graph is streamed in a task, within what the server calls a run."""
    told = Told()

    async def serve() -> None:
        async with run_scope("agent", run_id="r1", thread_id="t1", user={"identity": "ann"}) as run:
            async for chunk in graph(works).astream({"value": "x"}, stream_mode="values"):
                run.output = chunk

    with recorder(told.hooks) as seen:
        asyncio.run(serve())
    assert told.order == ["before", "after"]
    ctx = told.only("after")
    assert (ctx.run_id, ctx.graph_id, ctx.output) == ("r1", "agent", {"value": "x done", "said": []})
    assert {op.identity.run_id for op in seen.operations} == {"r1"}


def test_concurrent_runs_are_told_apart() -> None:
    told = Told()
    ready = asyncio.Barrier(5)

    async def node(state: State) -> State:
        await ready.wait()
        return {"value": f"{state.get('value')} done"}

    async def main() -> None:
        one = graph(node)  # pyright: ignore[reportArgumentType]
        await asyncio.gather(
            *(one.ainvoke({"value": str(n)}, {"configurable": {"thread_id": f"t{n}"}}) for n in range(5))
        )

    with recorder(told.hooks):
        asyncio.run(main())
    ended = {ctx.thread_id: (ctx.input, ctx.output) for which, ctx in told.calls if which == "after"}
    assert ended == {f"t{n}": ({"value": str(n)}, {"value": f"{n} done", "said": []}) for n in range(5)}
    assert len({ctx.run_id for _, ctx in told.calls}) == 5


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_unsampled_runs_are_gated_and_told_of(way: str) -> None:
    told = Told()
    with recorder(told.hooks, sampler=ALWAYS_OFF) as seen:
        settle(consume(graph(works), way, {"value": "x"}))

        @told.hooks.before_run
        def refuse(ctx: RunContext) -> None:
            raise RejectRun

        with pytest.raises(RejectRun):
            settle(consume(graph(works), way, {"value": "x"}))
    assert told.order == ["before", "after", "before"]
    assert seen.spans == []


# ------------------------------------------------------------------------------------------------ interrupts


def asks(_state: State) -> State:
    return {"value": interrupt("sure?")}


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_hooks_fire_once_per_leg_of_an_interrupted_run(way: str) -> None:
    told = Told()
    worker = graph(asks, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t1"}}
    with recorder(told.hooks):
        settle(consume(worker, way, {"value": "x"}, config))
        settle(consume(worker, way, Command(resume="yes"), config))
    assert told.order == ["before", "after"] * 2
    first, second = (ctx for which, ctx in told.calls if which == "after")
    assert (first.status, second.status) == ("interrupted", "success")
    assert first.run_id != second.run_id
    assert first.thread_id == second.thread_id == "t1"
    assert second.output["value"] == "yes"
    assert first.output["value"] == "x"
    assert isinstance(second.input, Command)


# ------------------------------------------------------------------------------------------------ failures


def fails(_state: State) -> State:
    raise ValueError("no such order")


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_a_failed_run_fires_on_run_error_with_the_error(way: str) -> None:
    told = Told()
    with recorder(told.hooks), pytest.raises(ValueError, match="no such order"):
        settle(consume(graph(fails), way, {"value": "x"}))
    assert told.order == ["before", "error"]
    ctx = told.only("error")
    assert (ctx.error, ctx.error_type) == ("no such order", "ValueError")
    assert (ctx.output, ctx.status, ctx.extras) == (None, None, {})


@pytest.mark.parametrize("way", ["ainvoke", "astream"])
def test_a_cancelled_run_fires_on_run_error_shielded(way: str) -> None:
    told = Told()

    async def main() -> None:
        started = asyncio.Event()

        async def node(_state: State) -> State:
            started.set()
            await asyncio.Event().wait()
            return {}

        task = asyncio.ensure_future(consume(graph(node), way, {"value": "x"}))  # pyright: ignore[reportArgumentType]
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(told.hooks):
        asyncio.run(main())
    assert told.order == ["before", "error"]
    ctx = told.only("error")
    assert (ctx.error, ctx.error_type) == ("Run was cancelled", "CancelledError")


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_is_left_early_is_abandoned(way: str) -> None:
    told = Told()

    async def leave() -> None:
        stream = graph(works).astream({"value": "x"}, stream_mode=["values"])
        await anext(stream)
        await stream.aclose()

    def leave_sync() -> None:
        stream = graph(works).stream({"value": "x"}, stream_mode=["values"])
        next(stream)
        stream.close()

    with recorder(told.hooks):
        settle(leave() if way == "astream" else leave_sync())
    assert told.order == ["before", "after"]
    assert told.only("after").status == "abandoned"


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_an_exception_in_before_run_fails_the_run_with_it(way: str) -> None:
    told, calls = Told(), Calls()
    broken = ConnectionError("billing is down")

    @told.hooks.before_run
    async def breaks(ctx: RunContext) -> None:
        raise broken

    with recorder(told.hooks) as seen, pytest.raises(ConnectionError) as caught:
        settle(consume(agent(calls), way))
    assert caught.value is broken
    assert (told.order, calls.made) == (["before", "error"], [])
    ctx = told.only("error")
    assert (ctx.error, ctx.error_type) == ("billing is down", "ConnectionError")
    assert [(op.status, [one.decision for one in op.decisions]) for op in seen.operations] == [("error", ["error"])]


def test_a_run_that_another_hook_stops_midway_fires_on_run_error() -> None:
    """It had begun, so somebody is told how it ended."""
    told, gates = Told(), Hooks()

    @gates.before("tool.execute", names={"refund"})
    def stop(op: Operation) -> None:
        raise Reject("Enough", status_code=429, scope="run")

    with recorder([told.hooks, gates]), pytest.raises(Reject, match="Enough"):
        agent(Calls()).invoke({"messages": [("user", "refund me")]})
    assert told.order == ["before", "error"]
    assert told.only("error").error_type == "Reject"


# ------------------------------------------------------------------------------------------------ what is told


class AuthUser:
    """A user as LangGraph's server has it: properties, and a dict of everything."""

    identity = "ann"
    display_name = "Ann"
    is_authenticated = True
    permissions = ("runs:create",)

    def dict(self) -> dict[str, Any]:
        return {"identity": "ann", "email": "ann@example.com", "plan": "pro"}


SERVED: dict[str, Any] = {
    "run_id": "5d0c9de4-7d6c-4a4c-8a1f-0c6c1d1c3a10",
    "configurable": {
        "thread_id": "t1",
        "assistant_id": "a1",
        "graph_id": "research",
        "langgraph_auth_user": AuthUser(),
    },
    "metadata": {"ticket": 7},
}


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_the_context_of_a_run_that_a_server_has_started(way: str) -> None:
    told = Told()
    with recorder(told.hooks):
        settle(consume(graph(works), way, {"value": "x"}, SERVED))
    ctx = told.only("before")
    assert ctx.run_id == SERVED["run_id"]
    assert (ctx.thread_id, ctx.assistant_id, ctx.graph_id) == ("t1", "a1", "research")
    assert (ctx.user.identity, ctx.user.display_name, ctx.user.email) == ("ann", "Ann", "ann@example.com")
    assert (ctx.user.permissions, ctx.user.plan, ctx.user.org_id) == (("runs:create",), "pro", None)
    assert ctx.config["configurable"] == SERVED["configurable"]
    assert ctx.config["metadata"]["ticket"] == 7  # older versions of LangGraph add ids of their own
    assert (ctx.input, ctx.output, ctx.status, ctx.error, ctx.extras) == ({"value": "x"}, None, None, None, {})
    after = told.only("after")
    assert (after.run_id, after.user) == (ctx.run_id, ctx.user)
    assert after.config["configurable"] == ctx.config["configurable"]
    assert (after.output, after.status) == ({"value": "x done", "said": []}, "success")


def test_without_configuration_ids_are_the_graphs_name() -> None:
    told = Told()
    with recorder(told.hooks):
        graph(works).invoke({"value": "x"})
    ctx = told.only("before")
    assert (ctx.assistant_id, ctx.graph_id, ctx.thread_id, ctx.user.identity) == ("worker", "worker", "", "")
    assert (ctx.run_id, ctx.config) == (f"{1:032x}", {})


def test_the_run_id_may_stand_in_the_configurable_part() -> None:
    told = Told()
    with recorder(told.hooks) as seen:
        graph(works).invoke({"value": "x"}, {"configurable": {"run_id": "r7"}})
    assert told.only("before").run_id == "r7"
    assert seen.operations[0].identity.run_id == "r7"


def test_configuration_bound_to_the_graph_is_in_the_snapshot() -> None:
    told = Told()
    bound = graph(works).with_config({"configurable": {"graph_id": "g", "x": 1}, "tags": ["a"]})
    with recorder(told.hooks):
        bound.invoke({"value": "x"}, {"configurable": {"x": 2}})
    ctx = told.only("before")
    assert (ctx.config["configurable"], ctx.config["tags"]) == ({"graph_id": "g", "x": 2}, ["a"])
    assert ctx.graph_id == "g"


def test_what_a_hook_does_to_its_context_reaches_nobody_else() -> None:
    told = Told()
    given: dict[str, Any] = {"value": "x", "said": ["a"]}
    config: dict[str, Any] = {"configurable": {"thread_id": "t1", "limits": {"n": 1}}}

    async def spoil(ctx: RunContext) -> None:
        ctx.config["configurable"]["limits"]["n"] = 99
        ctx.config.clear()
        ctx.input["said"].append("spoilt")
        if ctx.output is not None:
            ctx.output.clear()

    hooks = RunHooks()
    hooks.before_run(spoil)
    hooks.after_run(spoil)
    with recorder([hooks, told.hooks]):
        result = graph(works).invoke(given, config)
    assert result == {"value": "x done", "said": ["a"]}
    assert told.only("before").config == config == {"configurable": {"thread_id": "t1", "limits": {"n": 1}}}
    assert told.only("before").input == given == {"value": "x", "said": ["a"]}
    assert told.only("after").output == result


# ------------------------------------------------------------------------------------------------ usage


@pytest.mark.parametrize("way", WAYS)
def test_usage_by_model_in_integers(way: str) -> None:
    told = Told()
    with recorder(told.hooks):
        settle(consume(agent(Calls()), way))
    assert told.only("after").extras == {
        "usage_metadata": {"gpt-4o-mini": {"input_tokens": 69, "output_tokens": 33, "total_tokens": 102}}
    }
    assert "usage_metadata" not in told.only("before").extras


def test_partial_usage_of_a_run_that_failed() -> None:
    told, gates = Told(), Hooks()

    @gates.before("tool.execute", names={"refund"})
    def stop(op: Operation) -> None:
        raise Reject("Enough", scope="run")

    with recorder([told.hooks, gates]), pytest.raises(Reject):
        agent(Calls()).invoke({"messages": [("user", "refund me")]})
    assert told.only("error").extras["usage_metadata"]["gpt-4o-mini"]["total_tokens"] == 68


def test_partial_usage_of_a_run_that_was_cancelled() -> None:
    told = Told()

    async def main() -> None:
        inside = asyncio.Event()

        @tool
        async def search(query: str) -> str:
            """Search the web."""
            inside.set()
            await asyncio.Event().wait()
            return query

        model = Turns(turns=[[("search", {"query": "x"})], "done"], asked=[])
        task = asyncio.ensure_future(create(model, tools=[search], name="helper").ainvoke(ASK))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(told.hooks):
        asyncio.run(main())
    assert told.order == ["before", "error"]
    assert told.only("error").error_type == "CancelledError"
    assert told.only("error").extras["usage_metadata"]["gpt-4o-mini"]["total_tokens"] == 34
