"""What decisions choose to do, and functions of OpenAI's agents, are operations: gated and counted."""

import importlib
from importlib.util import find_spec
from inspect import iscoroutinefunction
from typing import Any

import pytest

from spanhook import Reject
from spanhook.cli.conformance.libraries.openai_ways import async_client, sync_client
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder
from tests.instrument.openai.test_tools import RAN, alook_up, look_up, refusing

pytestmark = pytest.mark.skipif(
    find_spec("openai.lib.responses_tool_runner") is None, reason="this version of openai has no tool runners"
)


def decided(server: OpenAIServer, handler: Any, *, on_loop: bool = False) -> Any:
    """Run the runner of decisions with one action, which is chosen, and then nothing else to do."""
    from openai.lib.decisions_tool_runner import AsyncDecisionsToolRunner, DecisionsToolRunner

    told: Any = [
        {"id": "act", "description": "Do it.", "execute": handler},
        {"id": "done", "description": "All done.", "done": True},
    ]
    turns = iter((told, told[1:]))

    async def main() -> Any:
        async def observe() -> Any:
            return "seen"

        async def candidates(_observation: Any) -> Any:
            return next(turns)

        runner: Any = AsyncDecisionsToolRunner(observe=observe, candidates=candidates)
        async with async_client(server.url) as client:
            return await runner.run(client, {"model": "gpt-4o-mini", "input": "Go."})

    def sync() -> Any:
        runner: Any = DecisionsToolRunner(observe=lambda: "seen", candidates=lambda _observation: next(turns))
        with sync_client(server.url) as client:
            return runner.run(client, {"model": "gpt-4o-mini", "input": "Go."})

    async def here() -> Any:
        return sync()

    if iscoroutinefunction(handler):
        return run(main())
    return run(here()) if on_loop else sync()


@pytest.mark.parametrize("way", ["sync", "sync on a loop", "async"])
def test_what_a_decision_chose(way: str, server: OpenAIServer) -> None:
    from openai.lib.decisions_tool_runner import DecisionsToolRunnerError

    def act() -> str:
        RAN.append("act")
        return "did"

    async def later() -> str:
        return act()

    handler = later if way == "async" else act
    RAN.clear()
    with recorder(refusing()) as seen, pytest.raises(DecisionsToolRunnerError):
        decided(server, handler, on_loop="loop" in way)
    assert ([(op.name, op.status) for op in seen.operations if op.kind == "tool.execute"], RAN) == (
        [("act", "rejected")],
        [],
    )
    with recorder() as seen:
        assert decided(server, handler, on_loop="loop" in way)["status"] == "unverified"
    assert ([(op.name, op.status) for op in seen.operations if op.kind == "tool.execute"], RAN) == (
        [("act", "success")],
        ["act"],
    )


def test_functions_of_openais_agents() -> None:
    importlib.import_module("openai.lib.beta.agents")  # without which the next one cannot be imported
    from openai.lib.streaming.agents._tools import ToolInvocation
    from openai.types.beta.agent_function_call_item import AgentFunctionCallItem

    RAN.clear()
    made: Any = {"name": "look_up", "call_id": "call_1", "turn_id": "t", "arguments": '{"city": "Rome"}'}
    call = AgentFunctionCallItem.construct(**made)

    async def main() -> Any:
        return await ToolInvocation("s", call).invoke(alook_up)

    with recorder(refusing()) as seen:
        with pytest.raises(Reject):
            ToolInvocation("s", call).invoke(look_up)
        assert RAN == []
        assert [(op.name, op.request.arguments) for op in seen.operations] == [("look_up", {"city": "Rome"})]
    with recorder() as seen:
        assert ToolInvocation("s", call).invoke(look_up) == "Rome: sunny"
        assert run(main()) == "Rome: sunny"
    assert [op.status for op in seen.operations] == ["success", "success"]
