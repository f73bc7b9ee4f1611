"""The typed context of each kind: what it tells, and what changing it does."""

import asyncio
import dataclasses
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

import spanhook
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.definitions import (
    AgentHookContext,
    HookContext,
    HookRegistry,
    HookResult,
    LLMHookContext,
    MemoryHookContext,
    OperationHookContext,
    RequestHookContext,
    ToolHookContext,
    WorkflowHookContext,
)
from spanhook.testing import Recorder, recorder
from tests.definitions.parts import Middleware, call, search
from tests.instrument.langgraph.test_graph import two_steps


class Noting:
    """Keeps what a context said of each event, at the moment it ran."""

    def __init__(self, *events: str, **changes: Any) -> None:
        self.seen: list[Any] = []
        self.registry = HookRegistry()
        self._changes = changes
        for event in events:
            self.registry.register(Middleware(self._execute, event, name="noting"))

    def _execute(self, context: Any, call_next: Any) -> Any:
        self.seen.append(dataclasses.replace(context))
        for name, value in self._changes.items():
            if context.event_type.endswith(".pre"):
                setattr(context, name, value)
        return call_next(context)

    def run(self, function: Any) -> Recorder:
        with recorder(self.registry.hooks) as seen:
            function()
        return seen


def test_an_agents_context() -> None:
    noting = Noting("agent.invoke.pre", "agent.invoke.post")
    graph = agent(Calls())
    with spanhook.context(tenant_id="acme"):
        noting.run(lambda: consume(graph, "invoke", None, {}))
    before, after = noting.seen
    assert type(before) is type(after) is AgentHookContext
    assert (before.event_type, before.tenant_id, before.agent_name) == ("agent.invoke.pre", "acme", "helper")
    assert before.agent_definition is graph
    assert before.inputs["messages"][-1]["content"] == "refund me"
    assert (before.result, before.duration_ms) == (None, 0.0)
    assert isinstance(after.result["messages"][-1], AIMessage)
    assert after.duration_ms > 0


def test_an_agents_inputs_are_rewritten() -> None:
    ran: list[str] = []
    noting = Noting("agent.invoke.pre", inputs={"value": "mine"})
    noting.run(lambda: two_steps(ran).invoke({"value": "x"}))
    assert ran[0] == "first mine"


def test_an_agents_system_prompt_and_model_are_rewritten() -> None:
    asked: list[Any] = []
    noting = Noting("agent.invoke.pre", system_prompt="Be brief.", model="small")
    told = Noting("llm.call.pre")
    with recorder([noting.registry.hooks, told.registry.hooks]) as seen:
        consume(agent(Calls()), "invoke", None, {})
    asked = [(op.model, op.request.system) for op in seen.operations if op.kind == "llm.call"]
    assert asked == [("small", "Be brief.")] * 3
    assert {context.system_prompt for context in told.seen} == {"Be brief."}


def test_an_agents_model_is_not_that_of_an_agent_inside_of_it() -> None:
    inner = agent(Calls())

    class State(TypedDict, total=False):
        value: str

    builder: Any = StateGraph(State)
    builder.add_node("ask", lambda state: {"value": str(consume(inner, "invoke", None, {}))[:1]})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)

    def choose(context: AgentHookContext, call_next: Any) -> Any:
        if context.agent_name == "outer":
            context.model = "large"
        return call_next(context)

    registry = HookRegistry()
    registry.register(Middleware(choose, "agent.invoke.pre"))
    with recorder(registry.hooks) as seen:
        builder.compile(name="outer").invoke({})
    assert {op.model for op in seen.operations if op.kind == "llm.call"} == {"gpt-4o-mini"}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tools_context(is_async: bool) -> None:
    noting = Noting("tool.execute.pre", "tool.execute.post")

    def use() -> None:
        with spanhook.context(user_id="ann"):
            if is_async:
                asyncio.run(search([]).ainvoke(call()))
            else:
                search([]).invoke(call())

    noting.run(use)
    before, after = noting.seen
    assert type(before) is ToolHookContext
    assert (before.tool_name, before.arguments) == ("search", {"query": "x"})
    assert before.tool_context is not None
    assert before.tool_context.tool_call_id == "call_1"
    assert before.tool_context.identity.user_id == "ann"
    assert after.result.content == "found x"


def test_a_nodes_context_and_its_inputs_rewritten() -> None:
    ran: list[str] = []
    noting = Noting("workflow.step.pre", "workflow.step.post", inputs={"value": "mine"}, state={"value": "ignored"})
    noting.run(lambda: two_steps(ran).invoke({"value": "x"}))
    first = noting.seen[0]
    assert type(first) is WorkflowHookContext
    assert (first.workflow_name, first.step_id, first.step_action) == ("two steps", "first", "first")
    assert (first.inputs, first.state) == ({"value": "x"}, {"value": "x"})
    assert noting.seen[1].result == {"value": "first"}
    assert ran == ["first mine", "second mine"]


class Whole(BaseModel):
    value: str = "x"


@dataclasses.dataclass
class Plain:
    value: str = "x"


@pytest.mark.parametrize("state", [Whole, Plain])
def test_the_state_of_a_step_is_a_snapshot_whatever_it_is_made_of(state: type[Any]) -> None:
    builder: Any = StateGraph(state)
    builder.add_node("only", lambda state: {})
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    noting = Noting("workflow.step.pre")
    noting.run(lambda: builder.compile().invoke({"value": "x"}))
    assert noting.seen[0].state == {"value": "x"}


def test_a_models_context_and_its_messages_rewritten() -> None:
    changed = [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    noting = Noting("llm.call.pre", "llm.call.post", messages=changed)
    chat = ScriptedChat(body=Body())
    noting.run(lambda: chat.invoke([HumanMessage("hi")]))
    before, after = noting.seen
    assert type(before) is LLMHookContext
    assert before.messages == [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    assert (before.model, before.response_text) != ("", None)
    assert after.messages == changed
    assert after.response_text


def test_a_write_to_memory_has_a_context() -> None:
    store = InMemoryStore()
    noting = Noting("memory.store.pre")
    noting.run(lambda: store.put(("users", "ann"), "name", {"is": "Ann"}))
    (context,) = noting.seen
    assert type(context) is MemoryHookContext
    assert context.namespace == "users/ann"
    assert "Ann" in str(context.inputs)


def test_every_other_kind_has_a_context_too() -> None:
    noting = Noting("job.pre", "job.post", inputs={"n": 2})

    def work() -> None:
        with spanhook.operation("job", "nightly", request={"inputs": {"n": 1}}) as op:
            op.result_of("done")

    noting.run(work)
    before, after = noting.seen
    assert type(before) is OperationHookContext
    assert (before.name, before.inputs, after.result) == ("nightly", {"n": 1}, "done")


def test_a_requests_context_rewritten_and_answered() -> None:
    inputs = {"method": "POST", "path": "/ask", "headers": {"x": "1"}, "body": b"{}"}
    noting = Noting("request.pre", "request.post", body=b"[]")

    def use() -> Any:
        with spanhook.operation("request", "POST /ask", request={"inputs": inputs}) as op:
            assert op.request.inputs == {**inputs, "body": b"[]"}
            return op.result_of({"status_code": 200, "headers": {}, "body": b"ok"})

    noting.run(use)
    before, after = noting.seen
    assert type(before) is RequestHookContext
    assert (before.method, before.path, before.headers, before.body) == ("POST", "/ask", {"x": "1"}, b"{}")
    assert (after.status_code, after.response_headers, after.response_body) == (200, {}, b"ok")


def test_a_context_can_be_made_by_hand_to_test_middleware() -> None:
    class Shout:
        async def execute(self, context: ToolHookContext, call_next: Any) -> HookContext:
            context.arguments["query"] = context.arguments["query"].upper()
            return await call_next(context)

    async def rest(context: ToolHookContext) -> ToolHookContext:
        context.results.append(HookResult("rest", True))
        return context

    context = ToolHookContext(event_type="tool.execute.pre", tool_name="search", arguments={"query": "x"})
    done = asyncio.run(Shout().execute(context, rest))
    assert isinstance(done, ToolHookContext)
    assert done.arguments == {"query": "X"}
    assert [one.hook_name for one in done.results] == ["rest"]


def test_what_a_hook_keeps_of_its_context_changes_nothing_later() -> None:
    kept: list[Any] = []

    def keep(context: ToolHookContext, call_next: Any) -> Any:
        kept.append(context)
        return call_next(context)

    registry = HookRegistry()
    registry.register(Middleware(keep))
    registry.register(Middleware(lambda context, call_next: kept[0].arguments.update(query="y"), priority=200))
    with recorder(registry.hooks):
        assert search([]).invoke(call()).content == "found x"
