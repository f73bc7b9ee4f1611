"""A client with two servers, their tools, resources and prompts, without hooks and with them."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client
from opentelemetry.trace import SpanKind

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mcp_versions import http_app, http_transport, session_over
from spanhook.cli.conformance.servers.asgi import running
from spanhook.testing import recorder
from tests.instrument.mcp.parts import LEAKS, Shop, connected, run, said

pytestmark = LEAKS


async def _outcome(asked: Awaitable[Any]) -> str:
    try:
        return repr(await asked)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def _ask(session: ClientSession) -> list[str]:
    """Everything that a client asks of a server, some of it at the same time."""

    async def report(progress: float, total: float | None, message: str | None) -> None: ...

    address: Any = "doc://a"
    unknown: Any = "nothing://a"
    asked: list[Callable[[], Awaitable[Any]]] = [
        session.list_tools,
        session.list_resource_templates,
        session.list_prompts,
        lambda: session.call_tool("search", {"query": "x"}, progress_callback=report),
        lambda: session.call_tool("count", {"query": "y"}),
        lambda: session.call_tool("search", {"query": "bad"}),
        lambda: session.call_tool("search", {"quest": 1}),
        lambda: session.call_tool("search"),
        lambda: session.call_tool("unknown", {}),
        lambda: session.call_tool("twice", {"query": "z"}),
        lambda: session.call_tool("summarize", {"query": "z"}),
        lambda: session.read_resource(address),
        lambda: session.read_resource(unknown),
        lambda: session.get_prompt("greet", {"name": "bo"}),
        lambda: session.get_prompt("greet"),
        lambda: session.get_prompt("unknown", {}),
        session.send_ping,
    ]
    found = dict.fromkeys(range(len(asked)), "")

    async def at_once(number: int, ask: Callable[[], Awaitable[Any]]) -> None:
        found[number] = await _outcome(ask())

    for number, ask in enumerate(asked):
        found[number] = await _outcome(ask())
    one_by_one = list(found.values())
    async with anyio.create_task_group() as tasks:
        for number, ask in enumerate(asked):
            tasks.start_soon(at_once, number, ask)
    return one_by_one + list(found.values())


def _application() -> tuple[list[str], list[Any]]:
    first, second = Shop(), Shop()

    async def main() -> list[str]:
        async with AsyncExitStack() as stack:
            near = await stack.enter_async_context(connected(first))
            port = await stack.enter_async_context(running(http_app(second.server, stateless=False)))
            transport = await stack.enter_async_context(http_transport(f"http://127.0.0.1:{port}/mcp"))
            far = await stack.enter_async_context(session_over(*transport))
            async with spanhook.operation("agent.invoke", "Bo"):
                return [*await _ask(near), *await _ask(far)]

    return run(main), [first.ran, second.ran]


def test_the_results_are_the_same_with_hooks_and_without() -> None:
    bare, ran = _application()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    hooks.after("*")(lambda op: None)
    with recorder(hooks) as seen:
        hooked, ran_too = _application()
        agent = seen.operations[-1]
    assert hooked == bare
    assert [sorted(one) for one in ran_too] == [sorted(one) for one in ran]
    assert any("found x" in one for one in bare)
    # Eight calls, twice, of two servers. What a tool does is in the run if its server is in this process: over HTTP, a
    # server has runs of its own.
    assert agent.usage.tool_calls == 8 * 4 + 2
    assert agent.usage.llm_calls == 2


@pytest.mark.parametrize("phase", ["before", "after"])
def test_what_a_hook_changes_is_all_that_differs(phase: str) -> None:
    bare, _ = _application()
    hooks = Hooks()
    getattr(hooks, phase)("tool.execute", names={"summarize"})(lambda op: op.respond("masked"))
    with recorder(hooks):
        hooked, _ = _application()
    differing = [(one, other) for one, other in zip(bare, hooked, strict=True) if one != other]
    assert len(differing) == 4
    assert all(one.replace("short", "masked") == other for one, other in differing)


# ----------------------------------------------------------------------------------------------- other ways


async def _two_calls(session: ClientSession) -> list[str]:
    return [said(await session.call_tool(name, {"query": "x"})) for name in ("search", "count")]


def _gated(main: Callable[[Shop], Coroutine[Any, Any, list[str]]], *, backend: str = "asyncio") -> None:
    """A server refuses one of two tools, and a client asks for both."""
    hooks, shop = Hooks(), Shop()

    @hooks.before("tool.execute", names={"count"})
    def refuse(op: Operation) -> None:
        if getattr(op.span, "kind", None) is SpanKind.SERVER:
            raise Reject("no")

    with recorder(hooks) as seen:
        found = anyio.run(main, shop, backend=backend)
        counted = [(op.name, op.status) for op in seen.operations]
    assert (found, shop.ran) == (["found x", "Tool call rejected: no"], ["x"])
    assert counted == [("search", "success"), ("search", "success"), ("count", "rejected"), ("count", "error")]


def test_trio() -> None:
    async def main(shop: Shop) -> list[str]:
        async with connected(shop) as session:
            return await _two_calls(session)

    _gated(main, backend="trio")


def test_server_sent_events() -> None:
    async def main(shop: Shop) -> list[str]:
        async with (
            running(shop.server.sse_app()) as port,
            sse_client(f"http://127.0.0.1:{port}/sse") as streams,
            session_over(*streams) as session,
        ):
            return await _two_calls(session)

    _gated(main)
