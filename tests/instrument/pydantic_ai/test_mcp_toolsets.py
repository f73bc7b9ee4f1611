"""Tools of MCP servers over HTTP: one operation, which the client's request is the transport of."""

import asyncio
from importlib import import_module
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.toolsets import PrefixedToolset

from spanhook.cli.conformance.servers.mcp_server import FOUND, TOOL, http_port, named
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, refusing, returned, scripted, told

try:
    mcp: Any = import_module("pydantic_ai.mcp")
except ImportError:  # this environment lacks the client
    mcp = None
OverHTTP: Any = getattr(mcp, "MCPToolset", None) or getattr(mcp, "MCPServerStreamableHTTP", None)
"""The class in version 2, or in version 1."""


def _asked(body: Body, hooks: Any = None, prefix: str = "") -> tuple[Any, list[Any]]:
    name = f"{prefix}_{TOOL}" if prefix else TOOL
    told_model = Body()

    async def ask(url: str) -> None:
        toolset = OverHTTP(url)
        given = PrefixedToolset(toolset, prefix) if prefix else toolset
        agent = Agent(scripted(told_model, [(name, {"query": "tea"})], "done"), name="helper", toolsets=[given])
        async with agent:
            await agent.run(ASK)

    with recorder(hooks) as seen:
        asyncio.run(ask(f"http://127.0.0.1:{http_port()}/mcp/{named(body)}"))
    return seen, returned(told_model)


if OverHTTP is not None:
    # In version 1 it uses a function that its client deprecates.
    pytestmark = pytest.mark.filterwarnings("ignore:Use `streamable_http_client`:DeprecationWarning")

    @pytest.mark.parametrize("prefix", ["", "far"])
    def test_one_operation_for_a_call_and_its_request(prefix: str) -> None:
        body = Body()
        seen, answers = _asked(body, prefix=prefix)
        assert body.runs == 1
        assert FOUND in str(answers)
        name = f"{prefix}_{TOOL}" if prefix else TOOL
        assert [one for one in told(seen) if one[0] == "tool.execute"][-1] == ("tool.execute", name, "success")
        assert len([one for one in told(seen) if one[0] == "tool.execute"]) == 1

    def test_a_refused_call_sends_nothing() -> None:
        body = Body()
        _, answers = _asked(body, refusing("tool.execute"))
        assert body.runs == 0
        assert answers == ["Tool call rejected: not now"]
