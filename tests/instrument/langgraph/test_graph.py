"""LangGraph: one run is one operation; its nodes and its memory too, where somebody asks for them."""

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.langchain import ASK, WAYS, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.libraries.langgraph import make_graph
from spanhook.cli.conformance.subject import Body, settle
from spanhook.instrument import _outlets
from spanhook.instrument._wrapping import Binding
from spanhook.testing import recorder
from tests.overriding import REFUSED, refusing_milk


class State(TypedDict, total=False):
    value: str


def two_steps(seen: list[str]) -> Any:
    def note(name: str) -> Callable[[State], State]:
        def node(state: State) -> State:
            seen.append(f"{name} {state.get('value')}")
            return {"value": name}

        return node

    builder: Any = StateGraph(State)
    builder.add_node("first", note("first"))
    builder.add_node("second", note("second"))
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return builder.compile(name="two steps")


# ------------------------------------------------------------------------------------------------ agents


def test_the_spans_of_an_agent() -> None:
    with recorder() as seen:
        consume(agent(Calls()), "invoke", None, {"configurable": {"thread_id": "t1", "assistant_id": "a1"}})

    def brief(node: dict[str, Any]) -> Any:
        return {node["name"]: [brief(child) for child in node["children"]]} if node["children"] else node["name"]

    (root,) = seen.tree()
    assert brief(root) == snapshot(
        {
            "invoke_agent helper": [
                "chat gpt-4o-mini",
                "execute_tool search",
                "chat gpt-4o-mini",
                "execute_tool refund",
                "chat gpt-4o-mini",
            ]
        }
    )
    assert root["attributes"] == snapshot(
        {
            "gen_ai.provider.name": "langgraph",
            "gen_ai.agent.name": "helper",
            "gen_ai.agent.id": "a1",
            "gen_ai.operation.name": "invoke_agent",
            "spanhook.kind": "agent.invoke",
            "spanhook.status": "success",
            "spanhook.run.id": "00000000000000000000000000000001",
            "session.id": "t1",
            "gen_ai.conversation.id": "t1",
            "spanhook.usage.input_tokens": 69,
            "spanhook.usage.output_tokens": 33,
            "spanhook.cost.usd": 3.015e-05,
            "spanhook.llm_calls": 3,
            "spanhook.tool_calls": 2,
        }
    )


def test_the_run_event() -> None:
    with recorder() as seen:
        consume(agent(Calls()), "invoke", None, {"configurable": {"thread_id": "t1", "user_id": "ann"}})
    (event,) = seen.events
    assert event == snapshot(
        {
            "name": "spanhook.run",
            "attributes": {
                "spanhook.run.id": "00000000000000000000000000000001",
                "user.id": "ann",
                "session.id": "t1",
                "gen_ai.conversation.id": "t1",
                "gen_ai.agent.name": "helper",
                "spanhook.kind": "agent.invoke",
                "spanhook.target": "helper",
                "spanhook.status": "success",
                "spanhook.duration": 0.011,
                "spanhook.usage.input_tokens": 69,
                "spanhook.usage.output_tokens": 33,
                "spanhook.usage.cache_read_tokens": 0,
                "spanhook.usage.cache_write_tokens": 0,
                "spanhook.usage.reasoning_tokens": 0,
                "spanhook.usage.unpriced_tokens": 0,
                "spanhook.llm_calls": 3,
                "spanhook.tool_calls": 2,
                "spanhook.cost.usd": 3.015e-05,
                "spanhook.decisions": 0,
            },
            "body": {
                "spanhook.usage.by_model": {
                    "gpt-4o-mini": {
                        "input_tokens": 69,
                        "output_tokens": 33,
                        "total_tokens": 102,
                        "input_token_details": {"cache_read": 0, "cache_creation": 0},
                        "output_token_details": {"reasoning": 0},
                        "cost_usd": 3.015e-05,
                    }
                },
                "spanhook.decisions": {},
            },
            "trace_id": 1,
        }
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_result_as_after_hooks_see_it(way: str) -> None:
    hooks = Hooks()
    said: list[str] = []
    hooks.after("agent.invoke")(lambda op: said.append(op.response.text))
    with recorder(hooks):
        settle(consume(agent(Calls()), way))
    assert said == ["All done."]


def test_rewriting_what_an_agent_is_asked() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def redact(op: Operation) -> None:
        messages = op.request.messages
        messages[0]["parts"][0]["content"] = "[redacted]"
        op.replace(messages=messages, system="be kind")

    asked: list[Any] = []
    hooks.before("llm.call")(lambda op: asked.append([m["parts"][0]["content"] for m in op.request.messages]))
    with recorder(hooks):
        result = consume(agent(Calls(), ["done"]), "invoke")
    assert asked == [["be kind", "[redacted]"]]
    assert isinstance(result["messages"][1], HumanMessage)
    assert ASK["messages"][0]["content"] == "refund me"


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "events"])
def test_answering_for_an_agent(way: str) -> None:
    hooks = Hooks()
    hooks.before("agent.invoke")(lambda op: op.respond("we are closed"))
    calls = Calls()
    with recorder(hooks) as seen:
        result = settle(consume(agent(calls), way))
    assert calls.made == []
    assert [op.status for op in seen.operations] == ["success"]
    if way in ("invoke", "ainvoke"):
        assert result["messages"][-1].content == "we are closed"
    elif way in ("stream", "astream"):
        assert result[0]["spanhook"]["messages"][-1].content == "we are closed"


def test_graphs_without_messages_take_inputs() -> None:
    hooks = Hooks()
    hooks.before("agent.invoke", names={"worker"})(lambda op: op.replace(inputs={"value": "rewritten"}))
    body = Body()
    with recorder(hooks):
        make_graph(body).invoke({"value": "x"})
    assert body.seen == [{"value": "rewritten"}]


def test_graphs_may_be_answered_with_a_state() -> None:
    hooks = Hooks()
    hooks.before("agent.invoke")(lambda op: op.respond({"value": "cached"}))
    graph = make_graph(Body())
    with recorder(hooks):
        assert graph.invoke({"value": "x"}) == {"value": "cached"}
        assert list(graph.stream({"value": "x"}, stream_mode="values")) == [{"value": "cached"}]
        assert list(graph.stream({"value": "x"}, stream_mode=["values"])) == [("values", {"value": "cached"})]
        assert list(graph.stream({"value": "x"}, stream_mode=["values"], subgraphs=True)) == [
            ((), "values", {"value": "cached"})
        ]


def test_the_functional_api() -> None:
    @task
    def double(number: int) -> int:
        return 2 * number

    @entrypoint()
    def flow(number: int) -> int:
        return double(number).result() + 1

    with recorder() as seen:
        assert flow.invoke(20) == 41
    assert [(op.kind, op.name) for op in seen.operations] == [("agent.invoke", "LangGraph")]


# ------------------------------------------------------------------------------------------------ steps


def test_steps_are_no_operations_unless_asked_for() -> None:
    for settings, expected in (
        (Settings(), ["two steps"]),
        (Settings(steps=True), ["first", "second", "two steps"]),
    ):
        with recorder(settings=settings) as seen:
            two_steps([]).invoke({"value": "x"})
            asyncio.run(two_steps([]).ainvoke({"value": "x"}))
        assert [op.name for op in seen.operations] == expected * 2
    assert [span.name for span in seen.spans][:2] == ["workflow_step first", "workflow_step second"]


@pytest.mark.parametrize("is_async", [False, True])
def test_steps_may_be_refused_and_rewritten(is_async: bool) -> None:
    hooks = Hooks()

    @hooks.before("workflow.step", names={"first"})
    def rewrite(op: Operation) -> None:
        assert op.request.inputs == {"value": "x"}
        op.replace(inputs={"value": "rewritten"})

    @hooks.before("workflow.step", names={"second"})
    def refuse(op: Operation) -> None:
        raise Reject("not the second")

    ran: list[str] = []
    graph = two_steps(ran)
    with recorder(hooks) as seen, pytest.raises(Reject, match="not the second"):
        asyncio.run(graph.ainvoke({"value": "x"})) if is_async else graph.invoke({"value": "x"})
    assert ran == ["first rewritten"]
    assert [(op.name, op.status) for op in seen.operations] == [
        ("first", "success"),
        ("second", "rejected"),
        ("two steps", "rejected"),
    ]
    deciding = [span.name for span in seen.spans if "spanhook.decision" in (span.attributes or {})]
    assert deciding == ["workflow_step first", "workflow_step second"]


# ------------------------------------------------------------------------------------------------ interrupts


def test_a_tool_that_asks_first() -> None:
    from langchain_core.tools import tool

    @tool
    def wire(amount: int) -> str:
        """Wire money."""
        return "wired" if interrupt(f"wire {amount}?") == "yes" else "not wired"

    from langchain.agents import create_agent

    from spanhook.cli.conformance.libraries.langchain import Turns

    graph = create_agent(
        Turns(turns=[[("wire", {"amount": 5})], "done"], asked=[]),
        tools=[wire],
        checkpointer=InMemorySaver(),
        name="bank",
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    hooks = Hooks()
    statuses: list[tuple[str, str]] = []
    hooks.after("*")(lambda op: statuses.append((op.kind, op.status)))
    with recorder(hooks) as seen:
        first: Any = graph.invoke(ASK, config)
        assert first["__interrupt__"][0].value == "wire 5?"
        assert statuses[-1] == ("agent.invoke", "interrupted")
        assert ("tool.execute", "interrupted") in statuses
        second = graph.invoke(Command(resume="yes"), config)
    assert second["messages"][-1].content == "done"
    assert "wired" in [message.content for message in second["messages"]]
    assert {span.status.status_code.name for span in seen.spans} == {"UNSET"}
    assert [event["attributes"]["spanhook.status"] for event in seen.events] == ["interrupted", "success"]


def test_a_hook_that_asks_a_person_first() -> None:
    """A gate may interrupt the graph itself; on resume it gets the answer."""
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"}, timeout=None)
    def approval(op: Operation) -> None:
        if interrupt(f"refund {op.request.arguments['amount']}?") != "yes":
            raise Reject("not approved")

    config: Any = {"configurable": {"thread_id": "t1"}}
    for answer, made in (("yes", ["search", "refund"]), ("no", ["search"])):
        calls = Calls()
        graph = agent(calls, checkpointer=InMemorySaver())
        with recorder(hooks) as seen:
            assert consume(graph, "invoke", None, config)["__interrupt__"][0].value == "refund 50?"
            graph.invoke(Command(resume=answer), config)
        assert calls.made == made
        decisions = [(one.hook, one.decision) for op in seen.operations for one in op.decisions]
        assert decisions == [("approval", "pause")] + ([] if answer == "yes" else [("approval", "reject")])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("kind", ["llm.call", "memory.store", "agent.invoke"])
def test_a_hook_on_anything_in_a_graph_may_ask_a_person_first(kind: str, is_async: bool) -> None:
    """What leaves an operation is a pause, whichever library the operation is of."""
    hooks = Hooks()

    @hooks.before(kind, names={"gpt-4o-mini", "notes", "inner"}, timeout=None)
    def approval(op: Operation) -> None:
        if interrupt("sure?") != "yes":
            raise Reject("not approved")

    def work(state: State) -> State:
        get_store().put(("notes",), "a", {"what": "x"})
        return {"value": ScriptedChat(body=body).invoke("hi").text}

    inner: Any = StateGraph(State)
    inner.add_node("work", work)
    inner.add_edge(START, "work")
    outer: Any = StateGraph(State)
    outer.add_node("inner", inner.compile(name="inner"))
    outer.add_edge(START, "inner")
    body = Body()
    graph = outer.compile(checkpointer=InMemorySaver(), store=InMemoryStore(), name="outer")
    config: Any = {"configurable": {"thread_id": "t1"}}

    def go(given: Any) -> Any:
        return asyncio.run(graph.ainvoke(given, config)) if is_async else graph.invoke(given, config)

    with recorder(hooks) as seen:
        assert go({"value": "x"})["__interrupt__"][0].value == "sure?"
        assert {op.status for op in seen.operations if op.kind in (kind, "agent.invoke")} == {"interrupted"}
        assert {span.status.status_code.name for span in seen.spans} == {"UNSET"}
        assert body.runs == 0
        assert go(Command(resume="yes")) == {"value": "hello there friend"}
    assert [(one.hook, one.decision) for op in seen.operations for one in op.decisions] == [("approval", "pause")]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_that_is_drained_was_interrupted(is_async: bool) -> None:
    runtime = pytest.importorskip("langgraph.runtime")
    if not hasattr(runtime, "RunControl"):
        pytest.skip("this version of LangGraph cannot be drained")
    control = runtime.RunControl()

    def drain(state: State) -> State:
        control.request_drain()
        return {"value": "first"}

    builder: Any = StateGraph(State)
    builder.add_node("first", drain)
    builder.add_node("second", lambda state: {"value": "second"})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    graph = builder.compile(checkpointer=InMemorySaver(), name="draining")
    config: Any = {"configurable": {"thread_id": "t1"}}
    with recorder() as seen, pytest.raises(Exception, match="drained"):
        if is_async:
            asyncio.run(graph.ainvoke({"value": "x"}, config, control=control))
        else:
            graph.invoke({"value": "x"}, config, control=control)
    assert [op.status for op in seen.operations] == ["interrupted"]


# ------------------------------------------------------------------------------------------------ memory


def test_the_memory_store_is_gated() -> None:
    hooks = Hooks()

    @hooks.before("memory.store", names={"secrets"})
    def refuse(op: Operation) -> None:
        raise Reject("nothing is kept there")

    @hooks.before("memory.store")
    def scrub(op: Operation) -> None:
        items = op.request.arguments.get("items")
        if items is None:
            op.replace(inputs={"what": "scrubbed"})
        else:
            op.replace(inputs=[{**item, "value": {"what": "scrubbed"}} for item in items])

    store = InMemoryStore()

    async def asynchronously() -> None:
        with pytest.raises(Reject):
            await store.aput(("secrets",), "a", {"what": "x"})
        await store.aput(("notes",), "b", {"what": "x"})
        await store.abatch([PutOp(("notes",), "c", {"what": "x"})])

    with recorder(hooks) as seen:
        for write in (
            lambda: store.put(("secrets",), "a", {"what": "x"}),
            lambda: store.batch([PutOp(("secrets",), "a", {"what": "x"})]),
        ):
            with pytest.raises(Reject):
                write()
        store.put(("notes",), "a", {"what": "x"})
        store.put(namespace=("notes",), key="k", value={"what": "x"})
        asyncio.run(asynchronously())
        assert store.get(("secrets",), "a") is None
    assert {item.key: item.value["what"] for item in store.search(("notes",))} == dict.fromkeys("akbc", "scrubbed")
    assert {op.kind for op in seen.operations} == {"memory.store"}
    assert len(seen.operations) == 7


def test_a_graph_that_remembers() -> None:
    def remember(state: State) -> State:
        get_store().put(("notes",), "a", {"what": state.get("value")})
        return {}

    builder: Any = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    with recorder() as seen:
        builder.compile(store=InMemoryStore(), name="remembering").invoke({"value": "x"})
    (memory, run) = seen.operations
    assert (memory.kind, memory.name, memory.parent) == ("memory.store", "notes", run)


@pytest.mark.parametrize("as_iterator", [False, True])
def test_a_batch_is_asked_about_by_every_namespace_in_it(as_iterator: bool) -> None:
    hooks = Hooks()

    @hooks.before("memory.store", names={"secrets"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    store = InMemoryStore()
    ops = [PutOp(("notes",), "a", {"what": "x"}), PutOp(("secrets",), "a", {"what": "x"})]
    with recorder(hooks):
        with pytest.raises(Reject):
            store.batch(iter(ops) if as_iterator else ops)
        assert store.get(("secrets",), "a") is None
        store.batch(ops[:1])
        assert store.get(("notes",), "a") is not None


@pytest.mark.every_value
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    "asked",
    [{}, {"stream_mode": "updates"}, {"stream_mode": ["values"]}, {"version": "v2"}, {"stream_mode": "values"}],
    ids=str,
)
def test_invoke_is_answered_with_what_it_would_return(asked: dict[str, Any], way: str) -> None:
    graph = two_steps([])

    def use() -> Any:
        given = {"value": "x"}
        return graph.invoke(given, **asked) if way == "sync" else asyncio.run(graph.ainvoke(given, **asked))

    made = use()
    hooks = Hooks()
    hooks.before("agent.invoke")(lambda op: op.respond({"value": "answered"}))
    with recorder(hooks):
        answered = use()
    assert type(answered) is type(made)
    told = answered[-1] if isinstance(answered, list) else answered
    assert "answered" in str(told)


@pytest.mark.parametrize("inner", ["invoke", "stream"])
def test_a_graph_that_runs_itself_is_gated_each_time(inner: str) -> None:
    hooks = Hooks()
    asked: list[str] = []
    hooks.before("agent.invoke")(lambda op: asked.append(op.request.inputs["value"]))
    graph: Any = None

    def node(state: Any) -> Any:
        if len(state["value"]) < 3:
            deeper = {"value": state["value"] + "x"}
            return graph.invoke(deeper) if inner == "invoke" else list(graph.stream(deeper, stream_mode="values"))[-1]
        return state

    made = StateGraph(State)
    made.add_node("node", node)
    made.add_edge(START, "node")
    graph = made.compile()
    with recorder(hooks) as seen:
        assert graph.invoke({"value": "x"}) == {"value": "xxx"}
    assert asked == ["x", "xx", "xxx"]
    assert [op.status for op in seen.operations if op.kind == "agent.invoke"] == ["success"] * 3


def test_an_interrupt_where_steps_are_wrapped_has_them_wrapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph.pregel import _retry

    class Interrupted(BaseException):
        pass

    class Late(Binding):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            raise Interrupted

    untouched, hooks, ran = _retry.run_with_retry, Hooks(), list[str]()
    with recorder(hooks) as seen:
        with monkeypatch.context() as patch, pytest.raises(Interrupted):
            patch.setattr(_outlets, "Binding", Late)
            hooks.before("workflow.step")(lambda op: ran.append(op.name))
        hooks.before("llm.call")(lambda op: None)  # whatever it is, what is there is looked at again
        make_graph(Body()).invoke({})
    steps = [op.name for op in seen.operations if op.kind == "workflow.step"]
    assert ran == steps != []
    assert len(set(steps)) == len(steps)
    assert _retry.run_with_retry is untouched


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_an_override_that_asks_for_something_else_is_asked_about_again(way: str, in_place: bool) -> None:
    ran = list[str]()
    made = two_steps(ran)
    base: Any = type(made)

    def edited(given: Any) -> Any:
        if not in_place:
            return {"value": "milk"}
        given["value"] = "milk"
        return given

    class Editing(base):
        def invoke(self, input: Any, *args: Any, **given: Any) -> Any:
            return super().invoke(edited(input), *args, **given)

        def stream(self, input: Any, *args: Any, **given: Any) -> Any:
            yield from super().stream(input if way == "invoke" else edited(input), *args, **given)

    made.__class__ = Editing
    hooks, asked = refusing_milk("agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        list(getattr(made, way)({"value": "tea"}))
    assert (asked, ran) == ([False, True], [])
