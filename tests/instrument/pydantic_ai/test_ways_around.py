"""Attempts to get around the gates."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import FunctionToolset

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, Way, all_ways, go, refusing, run, scripted, told

KEPT_ITER, KEPT_REQUEST, KEPT_STREAM = Agent.iter, FunctionModel.request, FunctionModel.request_stream
KEPT_CALL = FunctionToolset.call_tool
CALL: Any = ([ModelRequest.user_text_prompt(ASK)], None, ModelRequestParameters())


# ------------------------------------------------------------------------------------------------ references


def test_references_taken_before() -> None:
    body = Body()
    agent, model = Agent(scripted(body), name="helper"), scripted(body)

    async def stream() -> None:
        async with KEPT_STREAM(model, *CALL) as response:
            async for _ in response:
                pass

    async def block() -> None:
        async with KEPT_ITER(agent, ASK) as going:
            async for _ in going:
                pass

    with recorder(refusing("*")):
        for use in (lambda: KEPT_REQUEST(model, *CALL), stream, block):
            with pytest.raises(Reject):
                asyncio.run(_awaited(use()))
    assert body.runs == 0


async def _awaited(made: Any) -> Any:
    return await made


# ------------------------------------------------------------------------------------------------ agents


class Own(Agent[Any, Any]):
    """An agent with a block of its own around the library's."""

    @asynccontextmanager
    async def iter(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        async with super().iter(*args, **kwargs) as going:
            yield going


@pytest.mark.parametrize(
    "make", [lambda model: Own(model, name="helper"), lambda model: WrapperAgent(Agent(model, name="helper"))]
)
@all_ways
def test_agents_around_agents(way: Way, make: Any) -> None:
    body = Body()
    with recorder() as seen:
        go(way, make(scripted(body)))
    assert told(seen) == [("llm.call", "scripted", "success"), ("agent.invoke", "helper", "success")]
    with recorder(refusing("agent.invoke")), pytest.raises(Reject):
        go(way, make(scripted(body)))
    assert body.runs == 1


def test_an_overridden_model() -> None:
    body = Body()
    agent = Agent(scripted(name="first"), name="helper")
    second = scripted(body, name="second")
    hooks = refusing("llm.call", names={"second"})
    with recorder(hooks), agent.override(model=second), pytest.raises(Reject):
        go(run, agent)
    assert body.runs == 0


def test_events_of_a_run() -> None:
    body = Body()
    agent = Agent(scripted(body), name="helper")

    async def hear() -> None:
        events: Any = agent.run_stream_events(ASK)
        if hasattr(events, "__aenter__"):
            async with events as heard:
                async for _ in heard:
                    pass
        else:
            async for _ in events:
                pass

    with recorder() as seen:
        asyncio.run(hear())
    assert told(seen) == [("llm.call", "scripted", "success"), ("agent.invoke", "helper", "success")]
    for kind in ("agent.invoke", "llm.call"):
        with recorder(refusing(kind)), pytest.raises(Reject):
            asyncio.run(hear())
    assert body.runs == 1


def test_runs_beside_each_other() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", names={"no"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    async def both() -> Any:
        agents = [Agent(scripted(name=name), name=f"agent {name}") for name in ("yes", "no") * 5]
        return await asyncio.gather(*(agent.run(ASK) for agent in agents), return_exceptions=True)

    with recorder(hooks) as seen:
        ended = asyncio.run(both())
    assert [isinstance(one, Reject) for one in ended] == [False, True] * 5
    assert [len(root["children"]) for root in seen.tree()] == [1] * 10


def test_a_run_inside_a_thread_inside_a_tool() -> None:
    body = Body()
    inner = Agent(scripted(body), name="inner")
    outer = Agent(scripted(None, [("work", {})], "done"), name="outer")
    raised: list[BaseException] = []

    @outer.tool_plain
    async def work() -> str:
        """Do some work."""

        def in_thread() -> None:
            try:
                asyncio.run(run(inner))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()
        return "done"

    with recorder(refusing("agent.invoke", names={"inner"})):
        go(run, outer)
    assert [type(one) for one in raised] == [Reject]
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ models, tools


def test_a_model_that_is_made_later() -> None:
    body = Body()
    with recorder(refusing("llm.call")):

        class Late(FunctionModel):
            async def request(self, *args: Any, **kwargs: Any) -> Any:
                body.run(args)
                return await super().request(*args, **kwargs)

        with pytest.raises(Reject):
            go(run, Agent(Late(lambda _messages, _info: ModelResponse(parts=[])), name="helper"))
    assert body.runs == 0


def test_a_wrapper_that_asks_twice_makes_two_calls() -> None:
    class Twice(WrapperModel):
        async def request(self, *args: Any, **kwargs: Any) -> Any:
            await self.wrapped.request(*args, **kwargs)
            return await self.wrapped.request(*args, **kwargs)

    with recorder() as seen:
        go(run, Agent(Twice(scripted()), name="helper"))
    assert [kind for kind, _, _ in told(seen)] == ["llm.call", "llm.call", "agent.invoke"]


def test_a_toolset_called_without_an_agents_loop() -> None:
    calls: list[str] = []

    def look_up(query: str) -> str:
        """Look something up."""
        calls.append(query)
        return "found"

    toolset: FunctionToolset[Any] = FunctionToolset([look_up])
    agent = Agent(scripted(None, [("work", {})], "done"), name="helper")

    @agent.tool_plain
    def work() -> str:
        """Do some work."""
        return "done"

    async def use() -> None:
        async with agent.iter(ASK) as going:
            async for node in going:
                if not agent.is_call_tools_node(node):
                    continue
                graph: Any = import_module("pydantic_ai._agent_graph")
                context = graph.build_run_context(going.ctx)
                tool = (await toolset.get_tools(context))["look_up"]
                for call in (toolset.call_tool, lambda *args: KEPT_CALL(toolset, *args)):
                    try:
                        await call("look_up", {"query": "tea"}, context, tool)
                    except Exception:
                        calls.append("told")

    with recorder(refusing("tool.execute", names={"look_up"})):
        asyncio.run(use())
    assert "tea" not in calls


# ------------------------------------------------------------------------------------------------ the library's own hooks


if find_spec("pydantic_ai.capabilities") is not None:

    @all_ways
    def test_hooks_of_the_library_run_once(way: Way) -> None:
        capabilities: Any = import_module("pydantic_ai.capabilities")
        heard: list[str] = []

        class Hearing(capabilities.AbstractCapability):
            async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
                heard.append("before tool")
                return args

            async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
                heard.append("after tool")
                return result

            async def before_run(self, ctx: Any) -> None:
                heard.append("before run")

        agent: Any = Agent(scripted(None, [("work", {})], "done"), name="helper", capabilities=[Hearing()])

        @agent.tool_plain
        def work() -> str:
            """Do some work."""
            return "done"

        with recorder() as seen:
            go(way, agent)
        assert heard == ["before run", "before tool", "after tool"]
        assert [kind for kind, _, _ in told(seen)] == ["llm.call", "tool.execute", "llm.call", "agent.invoke"]
