"""Functions that the SDK runs for a model, and tools of MCP servers that it calls for it."""

from collections.abc import Callable
from typing import Any

import pytest
from google.genai import Client
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.google_genai_ways import MODEL, collected
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.testing import recorder

ran: list[Any] = []


def look(at: str) -> str:
    """Looks at something."""
    ran.append(at)
    return f"{at} is a cat"


async def alook(at: str) -> str:
    """Looks at something, later."""
    return look(at)


def fails(at: str) -> str:
    """Fails."""
    raise ValueError(at)


@pytest.fixture(autouse=True)
def forget() -> None:
    ran.clear()


def ask(client: Client, tool: Callable[..., Any]) -> Any:
    return client.models.generate_content(model=MODEL, contents="hi", config={"tools": [tool]}).text


def chat(client: Client, tool: Callable[..., Any]) -> Any:
    return client.chats.create(model=MODEL, config={"tools": [tool]}).send_message("hi").text


def stream(client: Client, tool: Callable[..., Any]) -> Any:
    chunks = client.models.generate_content_stream(model=MODEL, contents="hi", config={"tools": [tool]})
    return "".join(one.text or "" for one in chunks if not one.function_calls)


def aask(client: Client, tool: Callable[..., Any]) -> Any:
    async def later() -> Any:
        return (await client.aio.models.generate_content(model=MODEL, contents="hi", config={"tools": [tool]})).text

    return run(later())


def astream(client: Client, tool: Callable[..., Any]) -> Any:
    async def later() -> Any:
        made = await client.aio.models.generate_content_stream(model=MODEL, contents="hi", config={"tools": [tool]})
        return "".join(one.text or "" for one in await collected(made) if not one.function_calls)

    return run(later())


WAYS = {"ask": (ask, look), "chat": (chat, look), "stream": (stream, look)} | {
    "async ask": (aask, alook),
    "async ask, sync function": (aask, look),
    "async stream": (astream, alook),
}


def called(name: str) -> Reply:
    return Reply(calls=(Call(name, {"at": "it"}),))


def told(server: GoogleServer) -> Any:
    """What the model was told of the function."""
    [part] = server.requests[1].body["contents"][-1]["parts"]
    return part["functionResponse"]["response"]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_an_operation(client: Client, server: GoogleServer, way: str) -> None:
    how, tool = WAYS[way]
    server.script(called(tool.__name__))
    with recorder() as seen:
        assert how(client, tool) == "hello there friend"
    assert sorted(op.kind for op in seen.operations) == ["llm.call", "llm.call", "tool.execute"]
    (op,) = [one for one in seen.operations if one.kind == "tool.execute"]
    assert (op.name, op.request.arguments, op.status) == (tool.__name__, {"at": "it"}, "success")
    assert (ran, told(server)) == (["it"], {"result": "it is a cat"})


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_told_to_the_model(client: Client, server: GoogleServer, way: str) -> None:
    how, tool = WAYS[way]
    server.script(called(tool.__name__))
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    with recorder(hooks) as seen:
        assert how(client, tool) == "hello there friend"
    assert sorted(op.status for op in seen.operations) == ["rejected", "success", "success"]
    assert (ran, told(server)) == ([], {"error": "Tool call rejected: not for you"})


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_of_the_run_ends_it(client: Client, server: GoogleServer, way: str) -> None:
    how, tool = WAYS[way]
    server.script(called(tool.__name__))
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="not for you"), operation("agent.invoke", "desk"):
        how(client, tool)
    assert (ran, len(server.requests)) == ([], 1)


DECIDED: dict[str, tuple[Callable[[Operation], None], list[str], str]] = {
    "rewritten": (lambda op: op.replace(arguments={"at": "that"}), ["that"], "that is a cat"),
    "answered": (lambda op: op.respond("an answer"), [], "an answer"),
    "replaced": (lambda op: op.respond("another"), ["it"], "another"),
}


@pytest.mark.parametrize("what", DECIDED)
@pytest.mark.parametrize("way", WAYS)
def test_what_hooks_decide(client: Client, server: GoogleServer, way: str, what: str) -> None:
    (how, tool), (decide, runs, result), hooks = WAYS[way], DECIDED[what], Hooks()
    (hooks.after if what == "replaced" else hooks.before)("tool.execute")(decide)
    server.script(called(tool.__name__))
    with recorder(hooks):
        how(client, tool)
    assert (ran, told(server)) == (runs, {"result": result})


def test_a_function_that_fails(client: Client, server: GoogleServer) -> None:
    server.script(called("fails"))
    with recorder() as seen:
        ask(client, fails)
    (op,) = [one for one in seen.operations if one.kind == "tool.execute"]
    assert (op.status, told(server)["error"].startswith("Failed to invoke function fails")) == ("error", True)


def test_a_span(client: Client, server: GoogleServer) -> None:
    server.script(called("look"))
    with recorder() as seen:
        ask(client, look)
        spans = seen.tree()
    assert spans[1]["attributes"] == snapshot(
        {
            "gen_ai.tool.name": "look",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Looks at something.",
            "gen_ai.operation.name": "execute_tool",
            "spanhook.kind": "tool.execute",
            "spanhook.status": "success",
            "spanhook.run.id": "00000000000000000000000000000002",
        }
    )


def test_content_of_functions_stays_inside(client: Client, server: GoogleServer) -> None:
    server.script(called("look"))
    with recorder() as seen:
        ask(client, look)
        assert "is a cat" not in f"{seen.tree()!r}"
