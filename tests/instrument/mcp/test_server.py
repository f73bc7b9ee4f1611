"""Servers: what runs, what does not, what whoever asked is told, and whose request it is."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from inline_snapshot import snapshot

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mcp_servers import ENVELOPE, http, memory
from spanhook.cli.conformance.libraries.mcp_versions import FIRST, low_level, low_level_server, served
from spanhook.testing import recorder
from tests.instrument.mcp.parts import (
    LEAKS,
    TYPES,
    Shop,
    asked,
    connected,
    greeted,
    is_error,
    run,
    said,
    structured,
    text_in,
)

pytestmark = LEAKS

HTTP = http(stateless=False)


def _ask(shop: Any, *requests: tuple[str, dict[str, Any]], over: Any = memory) -> list[dict[str, Any]]:
    """The answers to requests, one after another over one connection."""

    async def main() -> list[dict[str, Any]]:
        async with over(shop) as exchange:
            await greeted(exchange)
            return [await asked(exchange, name, number, **params) for number, (name, params) in enumerate(requests, 1)]

    return run(main)


def _tool(name: str, query: str = "x", **more: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": name, "arguments": {"query": query}, **more}


READ = ("resources/read", {"uri": "doc://a"})
GET = ("prompts/get", {"name": "greet", "arguments": {"name": "bo"}})


# ----------------------------------------------------------------------------------------------- spans


def test_a_served_call_as_a_span() -> None:
    with recorder() as seen:
        _ask(Shop().server, _tool("search"), over=HTTP)
        (span,) = seen.spans
        (op,) = seen.operations
    attributes = dict(span.attributes or {})
    assert len(str(attributes.pop("mcp.session.id"))) == 32
    assert (span.name, str(span.kind), span.status.status_code.name, attributes) == snapshot(
        (
            "tools/call search",
            "SpanKind.SERVER",
            "UNSET",
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "jsonrpc.request.id": "1",
                "mcp.protocol.version": "2025-06-18",
                "network.transport": "tcp",
                "network.protocol.name": "http",
                "spanhook.kind": "tool.execute",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
            },
        )
    )
    assert op.usage.tools == {"search": 1}


def test_metrics_of_what_is_served() -> None:
    with recorder() as seen:
        _ask(Shop().server, _tool("search"), _tool("search", "bad"), READ, GET)
        found = seen.metrics()
    methods = sorted(
        (told["mcp.method.name"], told.get("error.type", ""), value[1])
        for told, value in found["mcp.server.operation.duration"]
    )
    assert methods == [
        ("prompts/get", "", 1),
        ("resources/read", "", 1),
        ("tools/call", "", 1),
        ("tools/call", "tool_error", 1),
    ]
    assert "mcp.client.operation.duration" not in found


def test_what_is_inside_of_a_tool_is_in_its_run() -> None:
    with recorder() as seen:
        _ask(Shop().server, _tool("summarize"))
        (ran,) = [event for event in seen.events if event["name"] == "spanhook.run"]
    assert [(op.kind, op.parent and op.parent.name) for op in seen.operations] == [
        ("llm.call", "summarize"),
        ("tool.execute", None),
    ]
    told = ran["attributes"]
    assert (told["spanhook.llm_calls"], told["spanhook.tool_calls"], told["spanhook.usage.input_tokens"]) == (1, 1, 5)


# ----------------------------------------------------------------------------------------------- refusals


def test_whoever_asked_is_told_and_the_connection_goes_on() -> None:
    hooks, shop = Hooks(), Shop()

    @hooks.before("*", names={"search", "doc://a", "greet"})
    def refuse(op: Operation) -> None:
        raise Reject("An active subscription is required", status_code=402)

    with recorder(hooks) as seen:
        tool, resource, prompt, other = _ask(shop.server, _tool("search"), READ, GET, _tool("count"))
    assert tool["result"]["isError"] is True
    assert tool["result"]["content"] == [
        {"type": "text", "text": "Tool call rejected: An active subscription is required"}
    ]
    assert [resource["error"], prompt["error"]] == [
        {"code": -32003, "message": "An active subscription is required"}
    ] * 2
    assert (other["result"]["structuredContent"], shop.ran) == ({"x": 3}, ["x"])
    assert [op.status for op in seen.operations] == ["rejected"] * 3 + ["success"]


def test_a_refusal_of_the_run_ends_the_request_and_not_the_connection() -> None:
    hooks, shop = Hooks(), Shop()

    @hooks.before("*", names={"search", "doc://a"})
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks):
        tool, resource, other = _ask(shop.server, _tool("search"), READ, _tool("count"))
    assert (tool["result"]["isError"], "enough" in text_in(tool), resource["error"]["message"]) == (
        True,
        True,
        "enough",
    )
    assert other["result"]["structuredContent"] == {"x": 3}


def test_a_refusal_of_the_run_inside_of_a_tool() -> None:
    """Nothing of what stops the run leaves the request, which others share a connection with."""
    hooks, shop = Hooks(), Shop()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("the budget is spent", scope="run")

    with recorder(hooks) as seen:
        first, second = _ask(shop.server, _tool("summarize"), _tool("search"))
    assert first["result"]["isError"] is True
    assert "the budget is spent" in text_in(first)
    assert second["result"]["structuredContent"] == {"result": "found x"}
    assert [(op.name, op.status) for op in seen.operations] == [
        ("m", "rejected"),
        ("summarize", "rejected"),
        ("search", "success"),
    ]


def test_whoever_asks_for_a_task_is_told_as_an_error() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.before("tool.execute", name="refuse")(_refuse)
    with recorder(hooks):
        (told,) = _ask(shop.server, _tool("search", task={"ttl": 1000}))
    assert (told["error"]["code"], told["error"]["message"], shop.ran) == (-32003, "no", [])


def test_a_refused_result() -> None:
    hooks, shop = Hooks(), Shop()

    @hooks.after("*", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with recorder(hooks):
        tool, resource = _ask(shop.server, _tool("search"), READ)
    assert (tool["result"]["isError"], resource["error"]["message"]) == (True, "not that")
    assert "found" not in text_in(tool)


def test_a_hook_that_fails_refuses() -> None:
    hooks, shop = Hooks(), Shop()

    @hooks.before("tool.execute")
    def broken(op: Operation) -> None:
        raise ZeroDivisionError("private")

    with recorder(hooks):
        (tool,) = _ask(shop.server, _tool("search"))
    assert (tool["result"]["isError"], shop.ran) == (True, [])
    assert "private" not in text_in(tool)


# ----------------------------------------------------------------------------------------------- rewriting, answering


def test_what_hooks_make_of_requests_and_results_fits_the_schemas() -> None:
    """A client checks what a server sends."""
    for phase in ("before", "after"):
        hooks, shop = Hooks(), Shop()

        def answer(op: Operation) -> None:
            if op.parent is not None:  # the server's
                op.respond({"x": 9} if op.name == "count" else "masked")

        getattr(hooks, phase)("tool.execute", priority=50)(answer)

        async def main(shop: Shop = shop) -> list[Any]:
            async with connected(shop) as session:
                return [await session.call_tool(name, {"query": "x"}) for name in ("search", "count")]

        with recorder(hooks):
            search, count = run(main)
        assert (said(search), structured(search)) == ("masked", {"result": "masked"})
        assert structured(count) == {"x": 9}
        assert len(shop.ran) == (0 if phase == "before" else 2)


def test_an_answer_that_cannot_fit_the_schema_is_the_hook_s_failure() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.before("tool.execute")(lambda op: op.respond("no object"))
    with recorder(hooks):
        _, told = _ask(shop.server, ("tools/list", {}), _tool("count"))
    assert (told["result"]["isError"], shop.ran) == (True, [])
    assert "no object" not in text_in(told)


def test_text_that_is_an_object_fits_a_schema() -> None:
    """Masking works on the text of results, and what is structured is also there as text."""
    hooks, shop = Hooks(), Shop()
    hooks.after("tool.execute", priority=50)(lambda op: op.respond(op.response.text.replace("x", "#")))
    with recorder(hooks):
        (told,) = _ask(shop.server, _tool("count"))
    assert told["result"]["structuredContent"] == {"#": 3}
    assert "x" not in text_in(told).replace("text", "").replace("structuredContent", "")


def test_a_masked_error_stays_an_error() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.after("tool.execute", priority=50)(lambda op: op.respond("something failed"))
    with recorder(hooks) as seen:
        (told,) = _ask(shop.server, _tool("search", "bad"))
    assert (told["result"]["isError"], "secret" in text_in(told)) == (True, False)
    assert [op.status for op in seen.operations] == ["error"]


def test_rewritten_arguments_reach_the_function() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "other"}))
    hooks.before("mcp.resource.read")(lambda op: op.replace(arguments={"uri": "doc://b"}))
    hooks.before("mcp.prompt.get")(lambda op: op.replace(arguments={"name": "al"}))
    with recorder(hooks):
        _ask(shop.server, _tool("search"), READ, GET)
    assert shop.ran == ["other", "b", "al"]


# ----------------------------------------------------------------------------------------------- handlers


def test_a_handler_that_is_put_in_place_later_is_gated_too() -> None:
    hooks, ran = Hooks(), list[Any]()
    hooks.before("tool.execute", name="refuse")(_refuse)
    server = low_level_server("t", lambda given: (ran.append(given), "x")[1])

    async def later(*request: Any) -> Any:
        ran.append(request)
        result = TYPES.CallToolResult(content=[])
        return TYPES.ServerResult(result) if FIRST else result

    with recorder(hooks):
        if FIRST:
            server.request_handlers[TYPES.CallToolRequest] = later
        else:
            server.add_request_handler("tools/call", TYPES.CallToolRequestParams, later)
        before = dict(getattr(server, "request_handlers", {}))
        (told,) = _ask(server, _tool("t"))
        assert dict(getattr(server, "request_handlers", {})) == before
    assert (told["result"]["isError"], ran) == (True, [])
    (told,) = _ask(server, _tool("t"))
    assert len(ran) == 1


def _refuse(op: Operation) -> None:
    raise Reject("no")


def test_a_server_class_of_ones_own() -> None:
    """An overridden method that calls the SDK's is gated once."""
    hooks, told, shop = Hooks(), list[str](), Shop()
    hooks.before("tool.execute")(lambda op: told.append(op.name))
    low = low_level(shop.server)
    if FIRST:
        served: Any = type(low)

        class Own(served):
            async def _handle_request(self, *args: Any, **kwargs: Any) -> Any:
                told.append(self.__class__.__name__)
                return await super()._handle_request(*args, **kwargs)

        low.__class__ = Own
    with recorder(hooks) as seen:
        _ask(shop.server, _tool("search"))
    assert (told, len(seen.operations)) == ((["Own"] if FIRST else []) + ["search"], 1)


def test_requests_that_cannot_be_served() -> None:
    """What the SDK makes of them it makes with hooks too."""
    shop = Shop()
    requests = (_tool("unknown"), ("resources/read", {"uri": "nothing://here"}), ("prompts/get", {"name": "none"}))
    expected = _ask(shop.server, *requests)
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks) as seen:
        assert _ask(shop.server, *requests) == expected
    assert [op.status for op in seen.operations] == ["error"] * 3


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": "search", "arguments": 3}, {"name": None}])
def test_malformed_requests(params: Any) -> None:
    shop = Shop()
    expected = _ask(shop.server, ("tools/call", params))
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert _ask(shop.server, ("tools/call", params)) == expected
    assert shop.ran == []


# ----------------------------------------------------------------------------------------------- tools in their server


def test_a_tool_that_uses_another_is_two() -> None:
    hooks, shop = Hooks(), Shop()
    with recorder(hooks) as seen:
        _ask(shop.server, _tool("twice"))
    assert [(op.name, op.parent and op.parent.name) for op in seen.operations] == [("search", "twice"), ("twice", None)]
    assert seen.operations[-1].usage.tools == {"search": 1, "twice": 1}


def test_a_tool_refused_inside_of_another() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.before("tool.execute", names={"search"})(_refuse)
    with recorder(hooks) as seen:
        (told,) = _ask(shop.server, _tool("twice"))
    assert (told["result"]["isError"], shop.ran) == (True, ["twice x"])
    assert [(op.name, op.status) for op in seen.operations] == [("search", "rejected"), ("twice", "error")]


def test_a_tool_called_without_a_request() -> None:
    hooks, shop = Hooks(), Shop()
    hooks.before("tool.execute", names={"count"})(_refuse)

    async def main() -> Any:
        found = await shop.server.call_tool("search", {"query": "x"})
        with pytest.raises(Reject):
            await shop.server.call_tool("count", {"query": "x"})
        return found

    with recorder(hooks) as seen:
        found = run(main)
    assert "found x" in str(found)
    assert [(op.name, op.status) for op in seen.operations] == [("search", "success"), ("count", "rejected")]
    names = [(span.name, str(span.kind)) for span in seen.spans]
    assert names == [(f"execute_tool {name}", "SpanKind.INTERNAL") for name in ("search", "count")]


# ----------------------------------------------------------------------------------------------- ends


def test_a_client_that_cancels() -> None:
    hooks, shop, told = Hooks(), Shop(), list[str]()
    hooks.on_error("tool.execute")(lambda op: told.append(op.status))

    async def main() -> None:
        async with served(shop.server) as (read, write):
            from spanhook.cli.conformance.libraries.mcp_versions import as_message

            async def exchange(message: Any) -> Any:
                await write.send(as_message(message))
                return (await read.receive()) if "id" in message else {}

            await greeted(exchange)
            request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": _tool("wait")[1]}
            await write.send(as_message(request))
            await shop.started.wait()
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
            await write.send(as_message(cancelled))
            if FIRST:
                await read.receive()
            await asked_again(exchange)

    async def asked_again(exchange: Any) -> None:
        await exchange({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": _tool("search")[1]})

    with recorder(hooks) as seen:
        run(main)
    assert sorted((op.name, op.status) for op in seen.operations) == [("search", "success"), ("wait", "cancelled")]
    assert told == ["cancelled"]


def test_many_requests_at_a_time() -> None:
    hooks, shop = Hooks(), Shop()

    @hooks.before("tool.execute", timeout=60.0)
    async def only_even(op: Operation) -> None:
        await anyio.lowlevel.checkpoint()
        if int(op.request.arguments["query"]) % 2:
            raise Reject(op.request.arguments["query"])

    results: dict[int, Any] = {}

    async def one(session: Any, number: int) -> None:
        results[number] = await session.call_tool("search", {"query": str(number)})

    async def main() -> None:
        async with connected(shop) as session, anyio.create_task_group() as tasks:
            for number in range(30):
                tasks.start_soon(one, session, number)

    only_even_at_servers = Hooks()
    only_even_at_servers.before("tool.execute", timeout=60.0, when=lambda op: op.parent is not None)(only_even)
    with recorder(only_even_at_servers):
        run(main)
    assert {number: is_error(result) for number, result in results.items()} == {n: bool(n % 2) for n in range(30)}
    assert sorted(map(int, shop.ran)) == list(range(0, 30, 2))


@pytest.mark.filterwarnings("ignore:The sampling capability")  # Newer protocol versions have none.
def test_a_tool_that_asks_the_client() -> None:
    """What a server asks of a client while it serves a request is no operation, and works as without hooks."""
    shop, hooks = Shop(), Hooks()
    hooks.before("*")(lambda op: None)

    async def asking(query: str, ctx: Any) -> str:
        result = await ctx.session.create_message(
            messages=[TYPES.SamplingMessage(role="user", content=TYPES.TextContent(type="text", text=query))],
            max_tokens=10,
        )
        return result.content.text

    module = "mcp.server.fastmcp" if FIRST else "mcp.server.mcpserver"
    asking.__annotations__["ctx"] = __import__(module, fromlist=["Context"]).Context
    shop.server.tool()(asking)

    async def sample(context: Any, params: Any) -> Any:
        with spanhook.operation("llm.call", "m", request={"messages": ["x"]}):
            content = TYPES.TextContent(type="text", text=f"a model on {params.messages[0].content.text}")
        return TYPES.CreateMessageResult(role="assistant", content=content, model="m")

    async def main() -> Any:
        from mcp import ClientSession

        async with (
            served(shop.server) as (read, write),
            ClientSession(read, write, sampling_callback=sample) as session,
        ):
            await session.initialize()
            return await session.call_tool("asking", {"query": "x"})

    with recorder(hooks) as seen:
        assert said(run(main)) == "a model on x"
    assert sorted(op.kind for op in seen.operations) == ["llm.call", "tool.execute", "tool.execute"]


# ----------------------------------------------------------------------------------------------- whose it is


class _Users:
    """Middleware that says who sent an HTTP request, as the SDK's own does with an access token."""

    def __init__(self, app: Any) -> None:
        self._app, self._users = app, iter("abcdefgh")
        self.router = app.router

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        class Token:
            subject, client_id, scopes = next(self._users), "app", ["use"]

        class User:
            access_token = Token()

        await self._app({**scope, "user": User()}, receive, send)


def test_each_request_has_the_user_of_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanhook.cli.conformance.libraries import mcp_servers

    made = mcp_servers.http_app
    monkeypatch.setattr(mcp_servers, "http_app", lambda *args, **kwargs: _Users(made(*args, **kwargs)))
    hooks, told = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: told.append((op.identity.user_id, op.extras["metadata"])))
    with recorder(hooks):
        _ask(Shop().server, _tool("search"), _tool("search"), over=HTTP)
    client = {"name": "tests", "version": "2"}
    assert told == [(user, {"client": client, "client_id": "app", "scopes": ["use"]}) for user in "cd"]


def test_the_metadata_of_a_request() -> None:
    hooks, told = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: told.append(op.extras["metadata"]))
    with recorder(hooks):
        _ask(Shop().server, _tool("search", _meta={"acme/order": 7}))
    assert told[0]["_meta"]["acme/order"] == 7
    assert told[0]["client"] == {"name": "tests", "version": "2"}


def test_the_application_s_identity_holds_for_what_it_serves() -> None:
    async def main() -> None:
        with spanhook.context(tenant_id="acme"):
            async with memory(Shop().server) as exchange:
                await greeted(exchange)
                await asked(exchange, "tools/call", name="search", arguments={"query": "x"})

    with recorder() as seen:
        run(main)
    assert [op.identity.tenant_id for op in seen.operations] == ["acme"]


if not FIRST:

    def test_a_request_without_a_handshake() -> None:
        hooks, shop = Hooks(), Shop()
        hooks.before("tool.execute", names={"count"})(_refuse)

        async def main() -> list[Any]:
            found: list[Any] = []
            for number, name in enumerate(("search", "count"), 1):
                async with memory(shop.server) as exchange:
                    method, params = _tool(name, _meta=ENVELOPE)
                    found.append(await asked(exchange, method, number, **params))
            return found

        with recorder(hooks) as seen:
            search, count = run(main)
        assert search["result"]["structuredContent"] == {"result": "found x"}
        assert (count["result"]["isError"], count["result"]["resultType"]) == (True, "complete")
        assert "io.modelcontextprotocol/serverInfo" in count["result"]["_meta"]
        assert [(span.attributes or {})["mcp.protocol.version"] for span in seen.spans] == ["2026-07-28"] * 2
