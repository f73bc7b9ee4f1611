"""Clients: what is sent, what is not, what hooks may make of it, and what is recorded."""

from collections.abc import Awaitable
from contextlib import nullcontext
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from inline_snapshot import snapshot
from mcp import ClientSession

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries import mcp_clients as clients
from spanhook.cli.conformance.libraries.mcp_clients import ASKED
from spanhook.cli.conformance.libraries.mcp_versions import FIRST, wrapped
from spanhook.cli.conformance.servers.mcp_server import FOUND, PROMPT, TOOL, URI
from spanhook.cli.conformance.subject import PLANTED, Body, Fault
from spanhook.testing import recorder
from tests.instrument.mcp.parts import LEAKS, OVER_HTTP, TYPES, Shop, connected, is_error, run, said, structured, use

pytestmark = LEAKS

EVERY = [
    clients.call_tool,
    clients.send_tool,
    clients.read_resource,
    clients.send_read,
    clients.get_prompt,
    clients.send_get,
]


# ----------------------------------------------------------------------------------------------- spans


def test_a_call_of_a_tool_as_a_span() -> None:
    with recorder(only=["mcp"]) as seen:
        use(Body(), clients.call_tool, over=OVER_HTTP)
        (span,) = seen.spans
        (op,) = seen.operations
    attributes = dict(span.attributes or {})
    version = attributes.pop("mcp.protocol.version", None)
    assert (version is None) is FIRST
    assert (span.name, str(span.kind), span.status.status_code.name, attributes) == snapshot(
        (
            "tools/call look_up",
            "SpanKind.CLIENT",
            "UNSET",
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "look_up",
                "spanhook.kind": "tool.execute",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
            },
        )
    )
    assert (op.usage.tool_calls, op.usage.tools) == (1, {TOOL: 1})


def test_a_resource_and_a_prompt_as_spans() -> None:
    with recorder() as seen:
        use(Body(), clients.read_resource)
        use(Body(), clients.get_prompt)
        found = [(span.name, span.attributes or {}) for span in seen.spans]
    keys = ("mcp.method.name", "mcp.resource.uri", "gen_ai.prompt.name", "gen_ai.operation.name", "spanhook.kind")
    assert [(name, [told.get(key) for key in keys]) for name, told in found] == snapshot(
        [
            ("resources/read", ["resources/read", "doc://readme", None, None, "mcp.resource.read"]),
            ("prompts/get greet", ["prompts/get", None, "greet", None, "mcp.prompt.get"]),
        ]
    )


def test_other_requests_are_no_operations() -> None:
    with recorder() as seen:
        use(Body(), lambda session: session.list_tools())
        use(Body(), lambda session: session.send_ping())
    assert seen.operations == []


def test_content_is_recorded_if_it_is_asked_for() -> None:
    from spanhook import Settings

    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        use(Body(), clients.call_tool)
        told = seen.spans[-1].attributes or {}
    assert told["gen_ai.tool.call.arguments"] == f'{{"query": "{ASKED}"}}'
    assert told["gen_ai.tool.call.result"] == FOUND


def test_metrics_of_requests_and_of_tools() -> None:
    with recorder() as seen:
        use(Body(), clients.call_tool)
        with pytest.raises(Exception, match="broken"):
            use(Body(fault=Fault("an error", status=-32000)), clients.get_prompt)
        found = seen.metrics()
    requests = {told["mcp.method.name"]: (told, value[1]) for told, value in found["mcp.client.operation.duration"]}
    assert {name: count for name, (_, count) in requests.items()} == {"tools/call": 1, "prompts/get": 1}
    assert (
        requests["prompts/get"][0]["error.type"] == requests["prompts/get"][0]["rpc.response.status_code"] == "-32000"
    )
    assert [told["gen_ai.tool.name"] for told, _ in found["gen_ai.execute_tool.duration"]] == [TOOL]
    assert "mcp.server.operation.duration" not in found


# ----------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("ask", EVERY, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("scope", ["operation", "run"])
def test_what_is_refused_is_not_sent(ask: Any, scope: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=402, scope=scope)

    with recorder(hooks) as seen, pytest.raises(Reject, match="not today") as caught:
        use(body, ask)
    assert (body.runs, caught.value.status_code) == (0, 402)
    assert [op.status for op in seen.operations] == ["rejected"]


def test_a_session_goes_on_after_a_refusal() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute", names={"other"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    async def ask(session: ClientSession) -> Any:
        with pytest.raises(Reject):
            await session.call_tool("other", {})
        return await session.call_tool(TOOL, {"query": "x"})

    with recorder(hooks):
        assert said(use(body, ask)) == FOUND
    assert [one["name"] for one in body.seen] == [TOOL]


def test_many_at_a_time_over_one_session_are_each_gated() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute", timeout=60.0)
    async def only_even(op: Operation) -> None:
        await anyio.lowlevel.checkpoint()
        if int(op.request.arguments["query"]) % 2:
            raise Reject(op.request.arguments["query"])

    outcomes: dict[int, str] = {}

    async def one(session: ClientSession, number: int) -> None:
        try:
            outcomes[number] = said(await session.call_tool(TOOL, {"query": str(number)}))
        except Reject as reject:
            outcomes[number] = reject.reason

    async def ask(session: ClientSession) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(one, session, number)

    with recorder(hooks) as seen:
        use(body, ask)
    assert outcomes == {number: str(number) if number % 2 else FOUND for number in range(40)}
    assert sorted(int(one["arguments"]["query"]) for one in body.seen) == list(range(0, 40, 2))
    assert sorted(op.status for op in seen.operations) == ["rejected"] * 20 + ["success"] * 20


# ----------------------------------------------------------------------------------------------- rewriting, answering


def test_arguments_are_rewritten() -> None:
    hooks, body = Hooks(), Body()
    hooks.before("*", name="rewrite")(lambda op: op.replace(arguments={"query": "other", "more": [1, {"a": None}]}))
    arguments = {"query": "mine"}
    with recorder(hooks) as seen:
        use(body, lambda session: session.call_tool(TOOL, arguments))
    assert body.seen == [{"name": TOOL, "arguments": {"query": "other", "more": [1, {"a": None}]}}]
    assert arguments == {"query": "mine"}
    assert seen.operations[0].request.arguments == {"query": "other", "more": [1, {"a": None}]}


def test_an_address_is_rewritten() -> None:
    hooks, body = Hooks(), Body()
    hooks.before("mcp.resource.read")(lambda op: op.replace(arguments={"uri": "doc://other"}))
    with recorder(hooks):
        use(body, clients.read_resource)
        use(body, clients.send_read)
    assert body.seen == [{"uri": "doc://other"}] * 2


def test_an_address_is_all_that_a_read_has() -> None:
    hooks, body = Hooks(), Body()
    hooks.before("mcp.resource.read")(lambda op: op.replace(arguments={"uri": "doc://other", "as": "text"}))
    with recorder(hooks), pytest.raises(Reject) as caught:
        use(body, clients.read_resource)
    assert (caught.value.status_code, body.runs) == (500, 0)


@pytest.mark.parametrize("call", [clients.call_tool, clients.send_tool], ids=["call_tool", "send_request"])
@pytest.mark.parametrize(
    ("value", "text", "more"),
    [
        ("words", "words", None),
        ({"a": 1}, '{"a": 1}', {"a": 1}),
        ([1, 2], "[1, 2]", None),
        ([{"type": "text", "text": "block"}], "block", None),
        ({"content": [{"type": "text", "text": "whole"}], "structuredContent": {"b": 2}}, "whole", {"b": 2}),
    ],
)
def test_an_answer_in_place_of_a_tool(call: Any, value: Any, text: str, more: Any) -> None:
    hooks, body = Hooks(), Body()
    hooks.before("tool.execute")(lambda op: op.respond(value))
    with recorder(hooks) as seen:
        result = use(body, call)
    assert (said(result), structured(result), is_error(result), body.runs) == (text, more, False, 0)
    assert [op.status for op in seen.operations] == ["success"]


def test_a_result_of_the_sdk_is_an_answer_as_it_is() -> None:
    hooks = Hooks()
    given = TYPES.CallToolResult.model_validate({"content": [{"type": "text", "text": "x"}], "isError": True})
    hooks.before("tool.execute")(lambda op: op.respond(given))
    with recorder(hooks) as seen:
        result = use(Body(), clients.call_tool)
    assert (said(result), is_error(result)) == ("x", True)
    assert seen.operations[0].status == "error"


@pytest.mark.parametrize("ask", [clients.read_resource, clients.get_prompt], ids=["resource", "prompt"])
def test_an_answer_in_place_of_a_resource_or_a_prompt(ask: Any) -> None:
    hooks, body = Hooks(), Body()
    hooks.before("*")(lambda op: op.respond("made up"))
    with recorder(hooks):
        result = use(body, ask)
    assert (said(result), body.runs) == ("made up", 0)


def test_messages_in_place_of_a_prompt() -> None:
    hooks = Hooks()
    parts = [{"role": "assistant", "parts": [{"type": "text", "content": "a"}]}, {"role": "user", "content": "b"}]
    hooks.before("mcp.prompt.get")(lambda op: op.respond(parts))
    with recorder(hooks):
        result = use(Body(), clients.get_prompt)
    assert [(one.role, one.content.text) for one in result.messages] == [("assistant", "a"), ("user", "b")]


def test_bytes_in_place_of_a_resource() -> None:
    hooks = Hooks()
    hooks.before("mcp.resource.read")(lambda op: op.respond(b"\x00\x01"))
    with recorder(hooks):
        result = use(Body(), clients.read_resource)
    assert result.contents[0].blob == "AAE="


def test_an_answer_need_not_fit_the_schema_of_the_tool_at_the_client() -> None:
    """The SDK checks what servers send, and a hook is none."""
    hooks, shop = Hooks(), Shop()

    @hooks.before("tool.execute", names={"count", "search"})
    def answer(op: Operation) -> None:
        op.respond("words")

    async def main() -> list[Any]:
        async with connected(shop) as session:
            await session.list_tools()
            return [await session.call_tool(name, {"query": "x"}) for name in ("search", "count")]

    with recorder(hooks):
        search, count = run(main)
    assert (said(search), structured(search)) == ("words", {"result": "words"})
    assert (said(count), structured(count), shop.ran) == ("words", None, [])


# ----------------------------------------------------------------------------------------------- results


def test_a_result_that_says_it_failed_is_an_error() -> None:
    hooks, told = Hooks(), list[Any]()
    hooks.after("tool.execute")(lambda op: told.append(("after", op.status, op.error, op.response.text)))
    hooks.on_error("tool.execute")(lambda op: told.append(("on_error", op.status, str(op.error))))
    with recorder(hooks) as seen:
        result = use(Body(fault=Fault("an exception")), clients.call_tool)
        (span,) = seen.spans
        metrics = seen.metrics()
    assert is_error(result)
    assert told == [("after", "error", None, f"{PLANTED} is broken"), ("on_error", "error", "tool_error")]
    assert (span.status.status_code.name, (span.attributes or {})["error.type"]) == ("ERROR", "tool_error")
    assert [one["attributes"]["error.type"] for one in seen.events] == ["tool_error"]
    for name in ("gen_ai.execute_tool.duration", "mcp.client.operation.duration"):
        assert [told["error.type"] for told, _ in metrics[name]] == ["tool_error"]


def test_on_error_hooks_do_not_change_a_result() -> None:
    hooks = Hooks()

    @hooks.on_error("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("too late")

    with recorder(hooks) as seen:
        assert is_error(use(Body(fault=Fault("an exception")), clients.call_tool))
    assert seen.operations[0].status == "error"


def test_what_replaces_an_error_is_an_error_unless_it_is_a_whole_result() -> None:
    for value, failed in (("masked", True), ({"content": [{"type": "text", "text": "masked"}]}, False)):
        hooks, told = Hooks(), list[str]()
        hooks.after("tool.execute")(lambda op, value=value: op.respond(value))
        hooks.on_error("tool.execute")(lambda op, told=told: told.append(op.status))
        with recorder(hooks) as seen:
            result = use(Body(fault=Fault("an exception")), clients.call_tool)
        assert (said(result), is_error(result)) == ("masked", failed)
        assert (seen.operations[0].status, told) == (("error", ["error"]) if failed else ("success", []))


def test_a_refusal_of_a_result() -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with recorder(hooks) as seen, pytest.raises(Reject, match="not that"):
        use(Body(), clients.call_tool)
    assert [op.status for op in seen.operations] == ["rejected"]


def test_an_error_of_the_protocol() -> None:
    with recorder() as seen, pytest.raises(Exception, match=f"{PLANTED} is broken") as caught:
        use(Body(fault=Fault("an error", status=-32050)), clients.call_tool)
    assert type(caught.value).__name__ == ("McpError" if FIRST else "MCPError")
    told = seen.spans[0].attributes or {}
    assert (told["error.type"], told["rpc.response.status_code"]) == ("-32050", "-32050")
    assert PLANTED not in repr(seen.tree())


def test_a_request_that_takes_too_long() -> None:
    import threading
    from datetime import timedelta

    body = Body(hold=threading.Event())
    patience: Any = timedelta(seconds=0.05) if FIRST else 0.05
    with recorder() as seen, pytest.raises(Exception, match=r"[Tt]imed out"):
        use(body, lambda session: session.call_tool(TOOL, {"query": "x"}, read_timeout_seconds=patience))
    assert body.hold is not None
    body.hold.set()
    assert [op.status for op in seen.operations] == ["error"]


def test_a_result_that_does_not_fit_the_schema_is_an_error_of_the_call() -> None:
    """The client checks it after the request, and the operation is the whole call."""
    shop = Shop()

    async def main() -> str:
        async with connected(shop) as session:
            await session.list_tools()
            schemas: Any = session._tool_output_schemas
            schemas["search"] = {"type": "object", "properties": {"no": {}}, "required": ["no"]}
            with pytest.raises(RuntimeError, match="Invalid structured content") as caught:
                await session.call_tool("search", {"query": "x"})
            return str(caught.value)

    with recorder() as seen:
        run(main)
    client = next(op for op in seen.operations if op.parent is None)
    assert (client.status, type(client.error)) == ("error", RuntimeError)


# ----------------------------------------------------------------------------------------------- odd ones


@pytest.mark.parametrize("arguments", [None, {}, {"a": {"b": [None, 1.5, True]}}, {"é": "ü"}])
def test_any_arguments(arguments: Any) -> None:
    hooks, body, told = Hooks(), Body(), list[Any]()
    hooks.before("*")(lambda op: told.append(op.request.arguments))
    with recorder(hooks) as seen:
        use(body, lambda session: session.call_tool(TOOL, arguments))
        use(body, lambda session: session.call_tool(name=TOOL, arguments=arguments))
    assert told == [arguments or {}] * 2
    assert [one.get("arguments") for one in body.seen] == [arguments] * 2
    assert len(seen.operations) == 2


def test_a_session_of_ones_own() -> None:
    """A method that overrides the SDK's is one call with it, unless it asks for something else."""

    class Own(ClientSession):
        async def call_tool(self, name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return await super().call_tool(name, {**arguments, **self.more}, *args, **kwargs)

        more: dict[str, Any] = {}

    async def main(body: Body, more: dict[str, Any]) -> Any:
        async with clients.memory(body) as (read, write), Own(read, write) as session:
            session.more = more
            await session.initialize()
            return await session.call_tool(TOOL, {"query": "x"})

    for more, operations in (({}, 1), ({"by": "me"}, 2)):
        body = Body()
        with recorder() as seen:
            run(lambda body=body, more=more: main(body, more))
        assert (len(seen.operations), body.runs) == (operations, 1)


def test_progress_is_passed_on() -> None:
    shop, told = Shop(), list[float]()

    async def working(query: str, ctx: Any) -> str:
        await ctx.report_progress(0.5, 1.0)
        return query

    from typing import get_type_hints

    module = "mcp.server.fastmcp" if FIRST else "mcp.server.mcpserver"
    working.__annotations__["ctx"] = __import__(module, fromlist=["Context"]).Context
    assert "ctx" in get_type_hints(working)
    shop.server.tool()(working)

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def main() -> Any:
        async with connected(shop) as session:
            return await session.call_tool("working", {"query": "x"}, progress_callback=heard)

    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert said(run(main)) == "x"
    assert told == [0.5]


# ----------------------------------------------------------------------------------------------- the client of version 2

if not FIRST:
    from mcp import Client
    from mcp.client.caching import CacheConfig, InMemoryResponseCacheStore
    from mcp.server.lowlevel import Server

    def _asking_once(ran: list[Any]) -> Any:
        """A server whose tool asks the client something first."""

        async def on_call(context: Any, params: Any) -> Any:
            ran.append(params.arguments)
            if params.input_responses:
                content = [TYPES.TextContent(type="text", text="done")]
                return TYPES.CallToolResult(content=content)
            asked = TYPES.ElicitRequest(
                params=TYPES.ElicitRequestFormParams(
                    message="sure?", requested_schema={"type": "object", "properties": {}}
                )
            )
            return TYPES.InputRequiredResult(input_requests={"sure": asked}, request_state="s")

        async def on_list(_context: Any, _params: Any) -> Any:
            return TYPES.ListToolsResult(tools=[TYPES.Tool(name="ask", input_schema={"type": "object"})])

        return Server("asking", on_call_tool=on_call, on_list_tools=on_list)

    def test_a_call_of_several_rounds_is_one() -> None:
        ran, asked = list[Any](), list[str]()

        async def agree(context: Any, params: Any) -> Any:
            asked.append(params.message)
            return TYPES.ElicitResult(action="accept", content={})

        async def main() -> Any:
            async with Client(_asking_once(ran), elicitation_callback=agree, mode="2026-07-28") as client:
                return await client.call_tool("ask", {"a": 1})

        with recorder() as seen:
            assert said(run(main)) == "done"
        assert (ran, asked) == ([{"a": 1}] * 2, ["sure?"])
        at_client = [op for op in seen.operations if op.parent is None]
        assert [(op.name, op.status, op.usage.tool_calls) for op in at_client] == [("ask", "success", 1)]

    def test_what_is_in_the_cache_is_gated_too() -> None:
        hooks, shop, calls = Hooks(), Shop(), list[str]()

        @hooks.before("mcp.resource.read", outermost=True)
        def once(op: Operation) -> None:
            calls.append(op.name)
            if len(calls) > 1:
                raise Reject("once is enough")

        async def main() -> Any:
            async with Client(shop.server) as client:
                await client.read_resource("doc://a")
                with pytest.raises(Reject):
                    await client.read_resource("doc://a")

        with recorder(hooks):
            run(main)
        assert calls == ["doc://a"] * 2

    @pytest.mark.parametrize("refuses", [True, False])
    def test_what_a_hook_refuses_is_not_kept_in_the_cache(refuses: bool) -> None:
        hooks, sizes = Hooks(), list[int]()

        @hooks.after("mcp.resource.read", outermost=True)
        def decide(_op: Operation) -> None:
            if refuses:
                raise Reject("Not this")

        async def on_read(_context: Any, params: Any) -> Any:
            content = TYPES.TextResourceContents(uri=params.uri, text="a")
            return TYPES.ReadResourceResult(contents=[content], ttl_ms=60_000)

        async def main() -> Any:
            store, server = InMemoryResponseCacheStore(), Server("keeping", on_read_resource=on_read)
            cache = CacheConfig(store=store, partition="a", target_id="shop")
            async with Client(server, cache=cache, mode="2026-07-28") as client:
                with pytest.raises(Reject) if refuses else nullcontext():
                    await client.read_resource("doc://a")
                sizes.append(len(store._entries))

        with recorder(hooks):
            run(main)
        assert sizes == [0 if refuses else 1]

    def test_a_client_that_is_not_connected() -> None:
        async def main() -> Any:
            await Client(Shop().server).call_tool("search", {"query": "x"})

        with recorder() as seen, pytest.raises(RuntimeError):
            run(main)
        assert [op.status for op in seen.operations] == ["error"]


def test_the_awaitable_is_a_coroutine() -> None:
    """What sends it may be cancelled, timed out and wrapped like the SDK's own."""
    import inspect

    def made(session: ClientSession) -> Awaitable[Any]:
        found = clients.call_tool(session)
        assert inspect.iscoroutine(found)
        return found

    with recorder():
        use(Body(), made)


def test_names_filter_by_tool_address_and_prompt() -> None:
    hooks, told = Hooks(), list[tuple[str, str]]()
    hooks.before("tool.execute", names={TOOL})(lambda op: told.append(("tool", op.name)))
    hooks.before("mcp.resource.read", names={URI})(lambda op: told.append(("resource", op.name)))
    hooks.before("mcp.prompt.get", names={PROMPT})(lambda op: told.append(("prompt", op.name)))
    hooks.before("*", names={"other"})(lambda op: told.append(("other", op.name)))
    with recorder(hooks):
        for ask in (clients.call_tool, clients.read_resource, clients.get_prompt):
            use(Body(), ask)
    assert told == [("tool", TOOL), ("resource", URI), ("prompt", PROMPT)]


def test_an_answer_is_of_the_class_that_was_asked_for() -> None:
    class Own(TYPES.CallToolResult): ...

    async def ask(session: ClientSession) -> Any:
        params = TYPES.CallToolRequestParams(name=TOOL, arguments={})
        return await session.send_request(wrapped(TYPES.CallToolRequest(params=params)), Own)

    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("mine"))
    with recorder(hooks):
        found = use(Body(), ask)
    assert (type(found), said(found)) == (Own, "mine")


if hasattr(TYPES, "CreateTaskResult"):

    def test_an_answer_is_no_task() -> None:
        async def ask(session: ClientSession) -> Any:
            params = TYPES.CallToolRequestParams.model_validate({"name": TOOL, "task": {"ttl": 1000}})
            return await session.send_request(wrapped(TYPES.CallToolRequest(params=params)), TYPES.CreateTaskResult)

        hooks, body = Hooks(), Body()
        hooks.before("tool.execute", priority=50)(lambda op: op.respond("done"))
        with recorder(hooks), pytest.raises(Reject):
            use(body, ask)
        assert body.runs == 0
