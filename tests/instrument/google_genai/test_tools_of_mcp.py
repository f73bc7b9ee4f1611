"""Tools of MCP servers that the SDK calls for a model, with MCP's SDK bound too and without."""

from typing import Any

import anyio
import pytest
from google.genai import Client

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_genai_ways import MODEL
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.testing import Recorder, recorder
from tests.instrument.mcp.parts import Shop, connected

ALONE = ("google_genai",)
BOTH = ("google_genai", "mcp")


def ask(
    client: Client, server: GoogleServer, hooks: Hooks, only: tuple[str, ...], query: str = "it"
) -> tuple[Shop, Recorder, str]:
    """Ask a model that calls a tool of a server: the server, what was recorded, and what the model was told."""
    server.script(Reply(calls=(Call("search", {"query": query}),)))
    shop = Shop()

    async def main() -> None:
        async with connected(shop) as session:
            config: Any = {"tools": [session]}
            await client.aio.models.generate_content(model=MODEL, contents="hi", config=config)

    with recorder(hooks, only=only) as seen:
        anyio.run(main)
    [part] = server.requests[1].body["contents"][-1]["parts"]
    return shop, seen, repr(part["functionResponse"]["response"])


@pytest.mark.parametrize("only", [ALONE, BOTH], ids=repr)
def test_it_is_an_operation(client: Client, server: GoogleServer, only: tuple[str, ...]) -> None:
    shop, seen, told = ask(client, server, Hooks(), only)
    ours = [op for op in seen.operations if op.kind == "tool.execute" and op.parent is None]
    assert [(op.name, op.request.arguments, op.status) for op in ours] == [("search", {"query": "it"}, "success")]
    assert shop.ran == ["it"]
    assert "found it" in told


@pytest.mark.parametrize("only", [ALONE, BOTH], ids=repr)
def test_a_refusal_is_told_to_the_model(client: Client, server: GoogleServer, only: tuple[str, ...]) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    shop, seen, told = ask(client, server, hooks, only)
    assert (shop.ran, told) == ([], repr({"error": "Tool call rejected: not for you"}))
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["rejected"]


@pytest.mark.parametrize("only", [ALONE, BOTH], ids=repr)
def test_rewritten(client: Client, server: GoogleServer, only: tuple[str, ...]) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def rewrite(op: Operation) -> None:
        if op.parent is None:
            op.replace(arguments={"query": "that"})

    shop, _, told = ask(client, server, hooks, only)
    assert shop.ran == ["that"]
    assert "found that" in told


@pytest.mark.parametrize("only", [ALONE, BOTH], ids=repr)
def test_answered(client: Client, server: GoogleServer, only: tuple[str, ...]) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("withheld"))
    shop, _, told = ask(client, server, hooks, only)
    assert shop.ran == []
    assert "withheld" in told


@pytest.mark.parametrize("only", [ALONE, BOTH], ids=repr)
def test_a_tool_that_fails(client: Client, server: GoogleServer, only: tuple[str, ...]) -> None:
    shop, seen, _ = ask(client, server, Hooks(), only, query="bad")
    ours = [op for op in seen.operations if op.kind == "tool.execute" and op.parent is None]
    assert (shop.ran, [op.status for op in ours]) == (["bad"], ["error"])
