"""A turn of Claude Code, by its SDK. Its program and its model are processes of their own, which are not measured."""

import subprocess
import sys
import tempfile
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation
from benchmarks.workloads.claude_server import DONE

_sdk: Any = import_module("claude_agent_sdk")  # it is not in the environment that types are checked in
_OFF = (
    *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"),
    *("DISABLE_ERROR_REPORTING", "DISABLE_TELEMETRY"),
)


@_sdk.tool("add", "Add numbers.", {"a": int, "b": int})
async def _add(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}


def turn() -> Operation:
    """A turn with three calls of the model and two of a tool in this process, in one session."""
    server: Any = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.workloads.claude_server"],
        stdin=subprocess.PIPE,  # it ends with this process
        stdout=subprocess.PIPE,
        text=True,
    )
    home: Any = tempfile.TemporaryDirectory(prefix="benchmark-")
    client: Any = _sdk.ClaudeSDKClient(_options(server.stdout.readline().strip(), home.name))
    opened = list[tuple[Any, Any]]()  # the server and the folder, which are there as long as the session

    async def operation() -> None:
        if not opened:
            opened.append((server, home))
            await client.connect()
        await client.query("hi")
        told = [one async for one in client.receive_response()]
        assert told[-1].result == DONE, told[-1]

    return operation


def _options(port: str, home: str) -> Any:
    return _sdk.ClaudeAgentOptions(
        cwd=home,
        model="claude-haiku-4-5",
        mcp_servers={"here": _sdk.create_sdk_mcp_server("here", tools=[_add])},
        permission_mode="bypassPermissions",
        setting_sources=[],
        tools=[],
        env={
            **dict.fromkeys(_OFF, "1"),
            "ANTHROPIC_API_KEY": "test",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "CLAUDE_CONFIG_DIR": home,
            "HOME": home,
            "HTTPS_PROXY": "http://127.0.0.1:9",  # where nobody answers
            "IS_SANDBOX": "1",
            "NO_PROXY": "127.0.0.1",
        },
    )
