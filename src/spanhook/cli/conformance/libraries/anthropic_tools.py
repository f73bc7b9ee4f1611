"""Functions that the tool runners of Anthropic's SDK run, and everything that the model is told of them."""

from dataclasses import dataclass
from typing import Any

from anthropic import beta_async_tool, beta_tool

from spanhook.cli.conformance.libraries.anthropic_ways import MESSAGES, async_client, sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.cli.conformance.subject import Body, Use

SAID = "sunny rome"


@dataclass
class Tooled:
    """A function for sync runners and one for async ones."""

    sync: Any
    later: Any

    @classmethod
    def of(cls, body: Body) -> "Tooled":
        def look_up(city: str) -> str:
            """Look up the weather."""
            body.run(city)
            return SAID

        async def alook_up(city: str) -> str:
            """Look up the weather."""
            return look_up(city)

        return cls(beta_tool(look_up), beta_async_tool(alook_up, name="look_up"))


def _server() -> AnthropicServer:
    server = AnthropicServer()
    server.script(Reply(calls=(Call("look_up", {"city": "rome"}),)), "done")
    return server


def _told(server: AnthropicServer) -> Any:
    """What the model was told of the function."""
    return server.requests[-1].body["messages"][-1]


def _way(*, stream: bool) -> Use:
    def use(tooled: Tooled) -> Any:
        with _server() as server, sync_client(server.url) as client:
            runner: Any = client.beta.messages.tool_runner(**MESSAGES, tools=[tooled.sync], stream=stream)
            runner.until_done()
            return _told(server)

    return use


def _later(*, stream: bool) -> Use:
    async def use(tooled: Tooled) -> Any:
        with _server() as server:
            async with async_client(server.url) as client:
                runner: Any = client.beta.messages.tool_runner(**MESSAGES, tools=[tooled.later], stream=stream)
                await runner.until_done()
                return _told(server)

    return use


TOOL_WAYS: dict[str, Use] = {
    "runner": _way(stream=False),
    "async runner": _later(stream=False),
    "runner stream": _way(stream=True),
    "async runner stream": _later(stream=True),
}
