"""Live runs: they are gated, and so are their tools, streaming, in threads or not."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    FOUND,
    SESSION,
    USER,
    LlmResponse,
    Own,
    RunConfig,
    agent,
    content,
    runner,
    tool,
    types,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import TOOLS, refusing

_config: Any = import_module("google.adk.agents.run_config")
_queue: Any = import_module("google.adk.agents.live_request_queue")
_connection: Any = import_module("google.adk.models.base_llm_connection")


class Connection(_connection.BaseLlmConnection):
    """A live connection on which a model asks for a tool, and then says that it is done."""

    def __init__(self) -> None:
        self.told, self.answered = list[Any](), asyncio.Event()

    async def send_history(self, history: Any) -> None:
        del history

    async def send_content(self, content: Any) -> None:
        found = [one.function_response.response for one in content.parts if one.function_response]
        self.told += found
        if found:
            self.answered.set()

    async def send_realtime(self, blob: Any) -> None:
        del blob

    async def receive(self) -> AsyncIterator[Any]:
        call = types.FunctionCall(id="call_1", name="look_up", args={"query": "tea"})
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))
        await self.answered.wait()
        yield LlmResponse(content=content("done", "model"), turn_complete=True)
        await asyncio.Event().wait()

    async def close(self) -> None:
        return None


class Live(Own):
    connection: Any = None

    @contextlib.asynccontextmanager
    async def connect(self, llm_request: Any) -> AsyncGenerator[Any]:
        yield self.connection


async def live(given: Any, *, pool: bool) -> list[Any]:
    """What the model of a live run is told of its tool."""
    connection, queue = Connection(), _queue.LiveRequestQueue()
    made = runner(agent(Live(connection=connection), given))
    await made.session_service.create_session(app_name="app", user_id=USER, session_id=SESSION)
    queue.send_content(content(ASK))
    threads = _config.ToolThreadPoolConfig() if pool else None
    config = RunConfig(response_modalities=["TEXT"], tool_thread_pool_config=threads)
    where = {"user_id": USER, "session_id": SESSION, "live_request_queue": queue, "run_config": config}
    async with contextlib.aclosing(made.run_live(**where)) as events:
        async for event in events:
            if event.turn_complete:
                break
    return connection.told


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("make", TOOLS.values(), ids=TOOLS)
def test_a_tool_of_a_live_run_is_gated_in_a_thread_or_not(make: Callable[[Body], Any], pool: bool) -> None:
    body, counted, hooks = Body(), list[str](), Hooks()
    hooks.before("*")(lambda op: counted.append(op.kind))
    with recorder(hooks):
        assert asyncio.run(live(make(body), pool=pool)) == [{"result": FOUND}]
    assert (counted, body.runs) == (["agent.invoke", "tool.execute"], 1)
    with recorder(refusing()):
        assert asyncio.run(live(make(body), pool=pool)) == [{"error": "not today"}]
    assert body.runs == 1


def test_a_tool_that_streams_in_a_live_run_is_gated() -> None:
    body = Body()

    async def look_up(query: str) -> AsyncIterator[str]:
        """Look something up."""
        body.run(query)
        yield FOUND

    with recorder(Hooks()) as seen:
        asyncio.run(live(look_up, pool=False))
    assert (seen.spans[0].name, body.runs) == ("execute_tool look_up", 1)
    with recorder(refusing()):
        asyncio.run(live(look_up, pool=False))
    assert body.runs == 1


def test_a_refused_live_run_opens_no_connection() -> None:
    hooks = refusing("agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(live(tool(Body()), pool=False))
