"""Tools of MCP servers, which CrewAI calls with MCP's client: one operation, whatever they are called on the way."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import ASK, Calling, Using, agent
from spanhook.cli.conformance.servers.mcp_server import FOUND, TOOL, http_port, named
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


@pytest.fixture
def body() -> Body:
    return Body()


@pytest.fixture
def remote(body: Body) -> Any:
    client, transport = import_module("crewai.mcp.client"), import_module("crewai.mcp.transports.http")
    if sys.version_info < (3, 12) and hasattr(transport, "raise_connection_failure"):
        pytest.skip("on Python 3.11, this version's own client of MCP servers fails")
    pydantic, tools = import_module("pydantic"), import_module("crewai.tools.mcp_native_tool")
    url = f"http://127.0.0.1:{http_port()}/{named(body)}"
    schema = {"description": "Look up.", "args_schema": pydantic.create_model("Asked", query=(str, ...))}

    def connected() -> Any:
        return client.MCPClient(transport.HTTPTransport(url))

    return tools.MCPNativeTool(connected, TOOL, schema, "shop", original_tool_name=TOOL)


def asking(llm: Any) -> Any:
    class Asking(llm):
        def call(self, *args: Any, **given: Any) -> Any:
            said = super().call(*args, **given)
            if isinstance(said, list):
                said[0]["function"]["name"] = "shop_look_up"
                return said
            return said.replace("Action: look_up", "Action: shop_look_up")

    return Asking()


@pytest.mark.parametrize("llm", [Using, Calling])
def test_a_tool_of_a_server_is_one_operation(llm: Any, remote: Any, body: Body, hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        assert agent(asking(llm), remote).kickoff(ASK).raw.endswith(FOUND)
    assert [op.name for op in seen.operations if op.kind == "tool.execute"] == ["shop_look_up"]
    assert body.runs == 1

    @hooks.before("tool.execute")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    assert "Not today" in agent(asking(llm), remote).kickoff(ASK).raw
    assert body.runs == 1


def test_a_tool_of_a_server_that_is_run_directly_is_one_too(remote: Any, body: Body) -> None:
    with recorder() as seen:
        assert FOUND in remote.run(query="tea")
    assert [op.name for op in seen.operations if op.kind == "tool.execute"] == ["shop_look_up"]
    assert body.runs == 1
