"""Functions that the tool runners of OpenAI's newer SDKs run, and everything that the model is told of them."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.openai_ways import async_client, sync_client
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.cli.conformance.subject import Body, Use

SAID = "sunny rome"
LACKING = find_spec("openai.lib.responses_tool_runner") is None
"""Older versions have no such runners."""
_ASKED: Any = {"model": "gpt-4o-mini", "input": "Say hello."}
_TOOL: Any = {
    "type": "function",
    "name": "look_up",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


@dataclass
class Tooled:
    """A runner with one function, sync and async."""

    sync: Any
    later: Any

    @classmethod
    def of(cls, body: Body) -> "Tooled":
        from openai.lib import responses_tool_runner as runners

        def look_up(arguments: dict[str, Any]) -> str:
            body.run(arguments)
            return SAID

        async def alook_up(arguments: dict[str, Any]) -> str:
            return look_up(arguments)

        return cls(
            runners.ResponsesToolRunner(functions=[runners.RegisteredFunction(_TOOL, look_up)]),
            runners.AsyncResponsesToolRunner(functions=[runners.AsyncRegisteredFunction(_TOOL, alook_up)]),
        )


def _server() -> OpenAIServer:
    server = OpenAIServer()
    server.script(Reply(calls=(Call("look_up", {"city": "rome"}),)), "done")
    return server


def _told(server: OpenAIServer) -> Any:
    """What the model was told of the function."""
    return server.requests[-1].body["input"][-1]


def _way(**options: Any) -> Use:
    def use(tooled: Tooled) -> Any:
        with _server() as server, sync_client(server.url) as client:
            tooled.sync.run(client, _ASKED, **options)
            return _told(server)

    return use


def _later(**options: Any) -> Use:
    async def use(tooled: Tooled) -> Any:
        with _server() as server:
            async with async_client(server.url) as client:
                await tooled.later.run(client, _ASKED, **options)
                return _told(server)

    return use


_EAGER: dict[str, Any] = {"stream": True, "eager": True}
TOOL_WAYS: dict[str, Use] = {
    "runner": _way(),
    "async runner": _later(),
    "runner stream": _way(**_EAGER),
    "async runner stream": _later(**_EAGER),
}
