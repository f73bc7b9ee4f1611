"""Attempts to get around the gates."""

import asyncio
import threading
from typing import Any

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_default_openai_client,
)
from agents.realtime import RealtimeAgent, RealtimeModel, RealtimeRunner
from agents.realtime.model_events import RealtimeModelToolCallEvent
from agents.run import AgentRunner

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_agents_ways import ASK, MODEL_CALL
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import go, hanging_up, run, scripted, streamed


def refusing(kind: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("no", scope="run")

    return hooks


KEPT_GET = (OpenAIResponsesModel.get_response, OpenAIChatCompletionsModel.get_response)


# ------------------------------------------------------------------------------------------------ runs


def test_runners_of_the_applications_own() -> None:
    class Own(AgentRunner):
        async def run(self, *args: Any, **kwargs: Any) -> Any:
            return await super().run(*args, **kwargs)

    body = Body()
    with recorder(refusing("agent.invoke")), pytest.raises(Reject):
        asyncio.run(Own().run(Agent(name="helper", model=scripted(body)), ASK))
    assert body.runs == 0


@pytest.mark.parametrize("kept", [Runner.run, AgentRunner().run])
def test_references_taken_before(kept: Any) -> None:
    body = Body()
    with recorder(refusing("agent.invoke")), pytest.raises(Reject):
        asyncio.run(kept(Agent(name="helper", model=scripted(body)), ASK))
    assert body.runs == 0


def test_a_stream_that_is_never_read() -> None:
    body = Body()

    async def start() -> None:
        result = Runner.run_streamed(Agent(name="helper", model=scripted(body)), ASK)
        task = result.run_loop_task
        assert task is not None
        with pytest.raises(Reject):
            await task

    with recorder(refusing("agent.invoke")):
        asyncio.run(start())
    assert body.runs == 0


def test_a_run_inside_a_thread_inside_a_tool() -> None:
    body = Body()
    inner = Agent(name="inner", model=scripted(body))
    raised: list[BaseException] = []

    def work() -> str:
        def in_thread() -> None:
            try:
                asyncio.run(run(inner))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()
        return "done"

    hooks = Hooks()

    @hooks.before("agent.invoke", names={"inner"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    agent = Agent(name="outer", model=scripted(None, [("work", "{}")], "done"), tools=[function_tool(work)])
    with recorder(hooks):
        go(run, agent)
    assert [type(one) for one in raised] == [Reject]
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ models


@pytest.mark.parametrize("kept", KEPT_GET)
def test_methods_taken_before(kept: Any) -> None:
    body = Body()
    kind = OpenAIResponsesModel if kept is KEPT_GET[0] else OpenAIChatCompletionsModel
    with recorder(refusing("llm.call")), pytest.raises(Reject):
        asyncio.run(kept(scripted(body, kind=kind), **MODEL_CALL))
    assert body.runs == 0


def test_the_parts_that_a_model_is_made_of() -> None:
    """They end in the client, which has gates of its own."""
    body = Body()
    with recorder(refusing("llm.call")), pytest.raises(Reject):
        asyncio.run(
            scripted(body)._fetch_response("Be brief.", ASK, ModelSettings(), [], None, [], None, None, stream=False)
        )
    assert body.runs == 0


def test_a_client_that_all_models_share() -> None:
    body = Body()
    set_default_openai_client(scripted(body)._client, use_for_tracing=False)
    for config in (RunConfig(), RunConfig(model="gpt-4o-mini"), RunConfig(model="openai/gpt-4o-mini")):
        for way in (run, streamed):
            with recorder(refusing("llm.call")), pytest.raises(Reject):
                go(way, Agent(name="helper"), run_config=config)
    assert body.runs == 0


def test_a_stream_that_is_opened_and_read_elsewhere() -> None:
    body = Body()
    with recorder(refusing("llm.call")):
        stream = scripted(body).stream_response(**MODEL_CALL)

        async def read() -> None:
            with pytest.raises(Reject):
                await anext(stream)

        thread = threading.Thread(target=lambda: asyncio.run(read()))
        thread.start()
        thread.join()
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ tools


def _tool(body: Body) -> Any:
    def work() -> str:
        body.run("work")
        return "did"

    return function_tool(work)


def test_a_tool_made_and_an_agent_cloned_before() -> None:
    body = Body()
    agent = Agent(name="helper", model=scripted(None, [("work", "{}")], "done"), tools=[_tool(body)])
    kept = agent.tools[0].on_invoke_tool  # type: ignore[union-attr]
    with recorder(refusing("tool.execute")), pytest.raises(Reject):
        go(run, agent.clone(name="other"))
    assert body.runs == 0
    assert agent.tools[0].on_invoke_tool is kept  # type: ignore[union-attr]


def test_a_tool_that_is_put_in_while_the_run_goes_on() -> None:
    body = Body()
    late = _tool(body)
    agent: Agent[Any] = Agent(name="helper", model=scripted(None, [("first", "{}")], [("work", "{}")], "done"))

    @function_tool
    def first() -> str:
        agent.tools.append(late)
        return "more"

    agent.tools.append(first)
    hooks = Hooks()

    @hooks.before("tool.execute", names={"work"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks):
        go(run, agent)
    assert body.runs == 0


def test_a_tool_that_calls_another_tool() -> None:
    body = Body()
    inner = _tool(body)

    @function_tool
    async def outer() -> str:
        return str(await inner.on_invoke_tool(None, "{}"))  # type: ignore[arg-type]

    hooks = Hooks()

    @hooks.before("tool.execute", names={"work"})
    def refuse(op: Operation) -> None:
        raise Reject("no", scope="run")

    agent = Agent(name="helper", model=scripted(None, [("outer", "{}")], "done"), tools=[outer])
    with recorder(hooks), pytest.raises(Reject):
        go(run, agent)
    assert body.runs == 0


class Realtime(RealtimeModel):
    """A realtime model in this process."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.listeners: list[Any] = []

    async def connect(self, options: Any) -> None: ...
    def add_listener(self, listener: Any) -> None:
        self.listeners.append(listener)

    def remove_listener(self, listener: Any) -> None:
        self.listeners.remove(listener)

    async def send_event(self, event: Any) -> None:
        self.sent.append(event)

    async def close(self) -> None: ...


def test_tools_of_realtime_sessions() -> None:
    body, model = Body(), Realtime()
    agent: Any = RealtimeAgent(name="voice", tools=[_tool(body)])

    async def talk() -> None:
        async with await RealtimeRunner(agent, model=model).run() as session:
            await session.on_event(RealtimeModelToolCallEvent(name="work", call_id="call_1", arguments="{}"))
            async for event in session:
                if event.type == "tool_end":
                    break

    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen:
        asyncio.run(talk())
    assert body.runs == 0
    assert [(op.kind, op.name, op.status) for op in seen.operations] == [("tool.execute", "work", "rejected")]
    assert "Tool call rejected: no" in str(model.sent)


def test_hanging_up_is_all_that_is_left() -> None:
    """What is refused leaves no task behind."""

    async def count() -> int:
        before = len(asyncio.all_tasks())
        for way in (run, streamed):
            with pytest.raises(Reject):
                await way(Agent(name="helper", model=scripted()))
        return len(asyncio.all_tasks()) - before

    with recorder(refusing("llm.call")):
        assert asyncio.run(hanging_up(count())) == 0
