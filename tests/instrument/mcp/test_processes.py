"""A server as the SDK's client starts it: a child process, with ``spanhook run`` and without."""

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mcp_versions import FIRST
from spanhook.testing import recorder
from tests.instrument.mcp.parts import LEAKS, is_error, run, said

pytestmark = LEAKS

HOOKS = """
from opentelemetry import trace
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.before("tool.execute", names={"refund"})
def no_refunds(op):
    raise Reject("no refunds today")

@hooks.after("tool.execute", names={"look"})
def mark(op):
    span = trace.get_current_span().get_span_context()
    op.respond(f"seen in {span.trace_id:032x}")
"""

SERVER = """
from {module} import {name} as Server

server = Server("child")

@server.tool()
def refund(amount: int) -> str:
    open("BODY_RAN", "a").write("x")
    return "paid"

@server.tool()
def look(query: str) -> str:
    return "found"

server.run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    named = ("mcp.server.fastmcp", "FastMCP") if FIRST else ("mcp.server.mcpserver", "MCPServer")
    (tmp_path / "server.py").write_text(SERVER.format(module=named[0], name=named[1]))
    (tmp_path / "hooks.py").write_text(HOOKS)
    return tmp_path


def _asked(folder: Path, *before: str) -> tuple[Any, Any]:
    """What a server in a child process answers to two calls."""
    parameters = StdioServerParameters(command=sys.executable, args=[*before, "server.py"], cwd=folder)

    async def main() -> tuple[Any, Any]:
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await session.call_tool("refund", {"amount": 1}), await session.call_tool("look", {"query": "x"})

    return run(main)


UNDER_SPANHOOK = ("-m", "spanhook", "run", "--hooks", "./hooks.py:hooks")


@pytest.mark.slow
def test_a_server_under_spanhook_run_refuses_and_continues_the_trace(folder: Path) -> None:
    with recorder() as seen:
        refund, look = _asked(folder, *UNDER_SPANHOOK)
        assert (is_error(refund), said(refund)) == (True, "Tool call rejected: no refunds today")
        context = seen.spans[-1].context
        assert said(look) == f"seen in {context.trace_id if context else 0:032x}"
        assert [(op.name, op.status) for op in seen.operations] == [("refund", "error"), ("look", "success")]
        assert (seen.spans[0].attributes or {})["error.type"] == "tool_error"
    assert not (folder / "BODY_RAN").exists()


@pytest.mark.slow
def test_a_server_without_spanhook_is_gated_at_the_client(folder: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", name="no_refunds", names={"refund"})
    def no_refunds(op: Operation) -> None:
        if op.request.arguments["amount"] > 1:
            raise Reject("too much")

    with recorder(hooks) as seen:
        refund, look = _asked(folder)
        assert (said(refund), said(look)) == ("paid", "found")
        assert [op.status for op in seen.operations] == ["success", "success"]
    assert (folder / "BODY_RAN").read_text() == "x"
