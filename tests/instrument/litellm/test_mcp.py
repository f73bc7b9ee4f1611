"""Tools of MCP servers that LiteLLM executes: calls of the MCP client that it uses, which are gated as any others.

What LiteLLM needs for that is its proxy's, which changes much in the process that imports it: so this is another one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanhook.cli.conformance.libraries.litellm_ways import litellm

if not hasattr(litellm, "run_tool_loop"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)

ROOT = Path(__file__).parents[3]

PROGRAM = """
import asyncio, json, os, socket, threading, time
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm, uvicorn
from litellm.experimental_mcp_client import call_openai_tool
from mcp import ClientSession
from mcp.server.mcpserver import MCPServer
from litellm.proxy.mcp_server.mcp_server_manager import global_mcp_server_manager as manager
from spanhook import Hooks, Reject
from spanhook.cli.conformance.libraries.mcp_versions import http_transport
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.testing import recorder

ran, served = [], MCPServer("weather")


@served.tool()
def look_up(query: str) -> str:
    ran.append(query)
    return "found tea"


listening = socket.socket()
listening.bind(("127.0.0.1", 0))
url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
web = uvicorn.Server(uvicorn.Config(served.streamable_http_app(), log_level="critical"))
thread = threading.Thread(target=lambda: asyncio.run(web.serve([listening])))
thread.daemon = True
thread.start()
while not web.started:
    time.sleep(0.05)

TOOLS = [{"type": "mcp", "server_url": "litellm_proxy/mcp/weather", "require_approval": "never"}]


def hooks(scope):
    made = Hooks()
    if scope:
        @made.before("tool.execute", names={"look_up"})
        def refuse(op):
            assert op.request.arguments == {"query": "tea"}
            raise Reject("Not today", scope=scope)
    return made


async def asked(server, responses):
    if not manager.get_registry():
        await manager.load_servers_from_config(
            {"weather": {"url": url, "transport": "http", "allow_all_keys": True}}
        )
    server.script(Reply(calls=(Call("weather-look_up", {"query": "tea"}),)), Reply(text="Done."))
    given = {"model": "openai/gpt-4o-mini", "api_base": server.url, "api_key": "test", "tools": TOOLS}
    if responses:
        await litellm.aresponses(input="hi", **given)
    else:
        await litellm.acompletion(messages=[{"role": "user", "content": "hi"}], **given)


async def by_session(_server):
    function = {"name": "look_up", "arguments": json.dumps({"query": "tea"})}
    async with http_transport(url) as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        try:
            await call_openai_tool(session=session, openai_tool={"id": "1", "type": "function", "function": function})
        except Reject as error:
            return str(error)


async def case(run, scope):
    ran.clear()
    with OpenAIServer() as server, recorder(hooks(scope)) as seen:
        raised = ""
        try:
            raised = await run(server) or ""
        except Exception as error:
            raised = str(error)
        bodies = [one.body for one in server.requests[1:]]
        told = [one for body in bodies for one in body.get("messages") or body["input"]]
        told = [one.get("content", one.get("output")) for one in told if one.get("role") == "tool" or "output" in one]
    ops = [(op.name, op.status) for op in seen.operations if op.kind == "tool.execute"]
    outer = {span.context.span_id: span.name for span in seen.spans}
    around = [outer.get(span.parent.span_id) for span in seen.spans if span.parent and "look_up" in span.name]
    return {"ran": [*ran], "ops": ops, "told": told, "raised": raised, "around": around}


def chat(server):
    return asked(server, False)


def response(server):
    return asked(server, True)


async def all_cases():
    return {
        f"{run.__name__} {scope}": await case(run, scope)
        for run in (chat, response, by_session)
        for scope in ("", "operation", "run")
    }


print("FOUND" + json.dumps(asyncio.run(all_cases())), flush=True)
os._exit(0)  # LiteLLM leaves threads and connections open
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    for module in ("fastapi_sso", "apscheduler", "expression", "semver"):
        pytest.importorskip(module, reason="what LiteLLM's proxy needs is not installed")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=tmp_path_factory.mktemp("proxy"),
    )
    assert "FOUND" in run.stdout, run.stderr[-3000:]
    return json.loads(run.stdout.partition("FOUND")[2].splitlines()[0])


@pytest.mark.parametrize("way", ["chat", "response", "by_session"])
def test_a_tool_that_litellm_executes_is_gated_by_the_client_that_it_uses(way: str, found: Any) -> None:
    told = found[f"{way} "]
    assert (told["ran"], told["raised"]) == (["tea"], "")
    assert told["ops"] == [["look_up", "success"]] * 2  # the client's and, in the same process, the server's
    if way != "by_session":
        assert told["around"] == ["tools/call look_up", "chat gpt-4o-mini"]
        assert told["told"] == ["found tea"]


@pytest.mark.parametrize("way", ["chat", "response", "by_session"])
def test_a_refused_tool_is_not_executed(way: str, found: Any) -> None:
    told = found[f"{way} operation"]
    assert (told["ran"], told["ops"]) == ([], [["look_up", "rejected"]])
    assert "Not today" in (told["raised"] if way == "by_session" else told["told"][0])


@pytest.mark.parametrize("way", ["chat", "response", "by_session"])
def test_a_run_that_is_stopped_there_ends(way: str, found: Any) -> None:
    told = found[f"{way} run"]
    assert (told["ran"], told["ops"], told["told"]) == ([], [["look_up", "rejected"]], [])
    assert "Not today" in told["raised"]
