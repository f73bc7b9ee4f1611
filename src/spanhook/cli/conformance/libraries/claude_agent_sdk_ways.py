"""Sessions with the program Claude Code, made so that they count, and every way of asking it.

The program is the one that the SDK brings. It runs as it does anywhere, but asks a server on loopback.
"""

import tempfile
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from spanhook.cli.conformance.servers.claude_server import ClaudeServer, environment
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import Body, Use

sdk: Any = import_module("claude_agent_sdk")  # it is not in the environment that types are checked in

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools return."""
AGENT_ASK = "Look around, agent."
BASH = "toolu_look"


@cache
def server() -> ClaudeServer:
    return ClaudeServer().__enter__()


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="spanhook-claude-")


def options(line: list[Seen], **given: Any) -> Any:
    """Options of a session whose requests to the model are recorded in ``line``."""
    work = Path(_home().name, "work")
    work.mkdir(exist_ok=True)
    url = server().url_for(line).removesuffix("/v1")
    made: dict[str, Any] = {
        "cwd": work,
        "permission_mode": "bypassPermissions",
        "setting_sources": [],
        "model": "claude-haiku-4-5",
    }
    return sdk.ClaudeAgentOptions(**{**made, "env": environment(url, _home().name), **given})


def asking(body: Body) -> Any:
    """A session whose requests to the model are the runs of the body."""
    return options(Line(body, lambda _seen: Tokens().total))


class Scripted(Line):
    """The requests of a session whose model uses a tool once, and then repeats what it was told.

    Args:
        call: The use of the tool.
        body: What requests of agents are runs of, if it starts one.
    """

    def __init__(self, call: Call, body: Body | None = None) -> None:
        super().__init__(Body(), lambda _seen: Tokens().total)
        self._call, self._agents = call, body
        self._last: Any = None
        self._is_agent = False

    def append(self, seen: Seen, /) -> None:
        list[Seen].append(self, seen)
        messages = seen.body["messages"]
        self._is_agent = self._agents is not None and _says(messages[0], AGENT_ASK)
        self._last = messages[-1]["content"]
        if self._agents is not None and self._is_agent:
            self._agents.count(seen, Tokens().total)
        elif self._agents is not None:
            self._agents.tokens += Tokens().total

    def reply(self, usual: Reply) -> Reply:
        if self._is_agent:
            return usual
        results = [one for one in _blocks(self._last) if one["type"] == "tool_result"]
        if not results:
            return Reply(calls=(self._call,))
        if self._agents is not None:  # what agents have said comes with how long they took
            return usual
        return Reply(text=_text(results[0].get("content")) or "nothing")


def _says(message: Any, text: str) -> bool:
    return text in _text(message["content"])


def _blocks(content: Any) -> list[Any]:
    return [] if isinstance(content, str) else content


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks: list[Any] = content or []
    return " ".join(one.get("text", "") for one in blocks)


def tool(body: Body, **given: Any) -> Any:
    """A session that uses a tool of a server in this process."""

    @sdk.tool("look_up", "Look something up.", {"query": str})
    async def look_up(args: dict[str, Any]) -> dict[str, Any]:
        body.run(args)
        return {"content": [{"type": "text", "text": FOUND}]}

    mine = sdk.create_sdk_mcp_server("here", tools=[look_up])
    line = Scripted(Call("mcp__here__look_up", {"query": "tea"}, BASH))
    return options(line, mcp_servers={"here": mine}, tools=[], **given)


def own_tool(body: Body) -> Any:
    """A session that uses a tool of the program: its shell, by which it asks a server of ours, which counts."""
    line = Scripted(Call("Bash", {"command": _fetching(body), "description": "look"}, BASH))
    return options(line, tools=["Bash"])


class _Fetched(Line):
    def reply(self, usual: Reply) -> Reply:
        fault = self._body.fault
        return Reply(status=500, message=FOUND) if fault is not None else Reply(body={"found": FOUND})


def _fetching(body: Body) -> str:
    """A command by which a shell reads what a server returns."""
    where = server().url_for(_Fetched(body, lambda _seen: 0)).partition("127.0.0.1")[2].partition("/")
    port, path = where[0].removeprefix(":"), f"/{where[2]}/tea"
    sent = f"POST {path} HTTP/1.0\\r\\ncontent-length: 0\\r\\n\\r\\n"
    return f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{sent}' >&3; cat <&3 | grep -o '{FOUND}'"


def planted_path(planted: str) -> Callable[[Any], Any]:
    """How a hook rewrites the command."""
    return lambda arguments: {**arguments, "command": arguments["command"].replace("/tea", f"/{planted}")}


def delegating(body: Body) -> Any:
    """A session that starts an agent, whose requests to the model are the runs of the body."""
    asked = {"description": "look", "prompt": AGENT_ASK, "subagent_type": "general-purpose", "run_in_background": False}
    return options(Scripted(Call("Agent", asked, "toolu_agent"), body))


# ------------------------------------------------------------------------------------------------- ways


async def prompts() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": ASK}, "parent_tool_use_id": None, "session_id": "one"}


async def _result(messages: Any) -> Any:
    """What the result of a turn says."""
    (found,) = [message async for message in messages if isinstance(message, sdk.ResultMessage)]
    return found.subtype if found.is_error else found.result


async def _conversed(options: Any, prompt: Any) -> Any:
    async with sdk.ClaudeSDKClient(options) as client:
        await client.query(prompt)
        return await _result(client.receive_response())


async def _connected(options: Any) -> Any:
    client = sdk.ClaudeSDKClient(options)
    try:
        await client.connect(ASK)
        return await _result(client.receive_response())
    finally:
        await client.disconnect()


QUERY_WAYS: dict[str, Use] = {"query": lambda given: _result(sdk.query(prompt=ASK, options=given))}
OPENED: dict[str, Use] = {"query": lambda given: sdk.query(prompt=ASK, options=given)}
WAYS: dict[str, Use] = {
    **QUERY_WAYS,
    "query, a stream of prompts": lambda given: _result(sdk.query(prompt=prompts(), options=given)),
    "client": lambda given: _conversed(given, ASK),
    "client, a stream of prompts": lambda given: _conversed(given, prompts()),
    "client, connect": _connected,
}
TOOL_WAYS: dict[str, Use] = {**QUERY_WAYS, "client": WAYS["client"]}
