"""Functions that the tool runners of Anthropic's SDK run are operations: gated, counted, and refused to the model."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncBuiltinFunctionTool, ToolError

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.anthropic_ways import MESSAGES, async_client, sync_client
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.settings import Settings
from spanhook.testing import recorder

RAN: list[Any] = []


@beta_tool
def look_up(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: The city.
        days: For how many days.
    """
    RAN.append((city, days))
    return f"{city}: sunny"


@beta_async_tool
async def alook_up(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: The city.
        days: For how many days.
    """
    RAN.append((city, days))
    return f"{city}: sunny"


class Remembering(BetaAbstractMemoryTool):
    """A built-in tool of the SDK's, with the application's own methods."""

    def view(self, command: Any) -> str:
        RAN.append(command.path)
        return "a secret"

    def create(self, command: Any) -> str:
        return "ok"

    str_replace = insert = delete = rename = create  # pyright: ignore[reportAssignmentType]


class Listing(BetaAsyncBuiltinFunctionTool):
    """An async built-in tool of the application's own."""

    def to_dict(self) -> Any:
        return {"name": "list", "input_schema": {"type": "object"}}

    async def call(self, input: object) -> str:
        RAN.append(input)
        return "one, two"


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    RAN.clear()
    with AnthropicServer() as running:
        running.script(Reply(calls=(Call("look_up", {"city": "Rome"}),)), "done")
        yield running


def sync(server: AnthropicServer, *tools: Any, stream: bool = False) -> str:
    with sync_client(server.url) as client:
        runner: Any = client.beta.messages.tool_runner(**MESSAGES, tools=list(tools) or [look_up], stream=stream)
        return runner.until_done().content[0].text


def later(server: AnthropicServer, *tools: Any, stream: bool = False) -> str:
    async def main() -> str:
        async with async_client(server.url) as client:
            given = list(tools) or [beta_async_tool(alook_up.func, name="look_up")]
            runner: Any = client.beta.messages.tool_runner(**MESSAGES, tools=given, stream=stream)
            return (await runner.until_done()).content[0].text

    return run(main())


Runner = Callable[..., str]
RUNNERS = pytest.mark.parametrize("runner", [sync, later], ids=["sync", "async"])


def sent_back(server: AnthropicServer) -> Any:
    """What the model was told of the tool."""
    return server.requests[-1].body["messages"][-1]["content"][0]


@RUNNERS
@pytest.mark.parametrize("stream", [False, True])
def test_it_is_one_operation(runner: Runner, stream: bool, server: AnthropicServer) -> None:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        assert runner(server, stream=stream) == "done"
    assert [(op.kind, op.name, op.status) for op in seen.operations if op.kind == "tool.execute"] == [
        ("tool.execute", "look_up", "success")
    ]
    (span,) = [span for span in seen.spans if span.name == "execute_tool look_up"]
    attributes = span.attributes or {}
    assert attributes["gen_ai.tool.description"]
    assert attributes["gen_ai.tool.call.arguments"] == '{"city": "Rome"}'
    assert "Rome: sunny" in str(attributes["gen_ai.tool.call.result"])
    assert RAN == [("Rome", 1)]


@RUNNERS
def test_a_refused_one_does_not_run_and_the_model_goes_on(
    runner: Runner, server: AnthropicServer, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    with recorder(hooks) as seen:
        assert runner(server) == "done"
    told = sent_back(server)
    assert (told["is_error"], told["content"]) == (True, "Tool call rejected: not for you")
    assert RAN == []
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["rejected"]
    assert "Error occurred" not in caplog.text


@RUNNERS
def test_arguments_are_rewritten_and_results_replaced(runner: Runner, server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def before(op: Operation) -> None:
        op.replace(arguments={**op.request.arguments, "city": "Bonn", "days": 3})

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        assert op.result == "Bonn: sunny"
        op.respond("rainy")

    with recorder(hooks):
        runner(server)
    assert RAN == [("Bonn", 3)]
    assert sent_back(server)["content"] == "rainy"


@RUNNERS
def test_a_hook_answers_instead(runner: Runner, server: AnthropicServer) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("from a hook"))
    with recorder(hooks):
        runner(server)
    assert (RAN, sent_back(server)["content"]) == ([], "from a hook")


def test_called_without_a_runner_the_refusal_is_raised(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    with recorder(hooks), pytest.raises(ToolError) as caught:
        look_up.call({"city": "Rome"})
    assert isinstance(caught.value, Reject)
    assert (caught.value.status_code, str(caught.value)) == (402, "no")
    assert RAN == []


def test_tools_that_are_classes(server: AnthropicServer) -> None:
    hooks, refused = Hooks(), list[str]()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        refused.append(op.name)
        raise Reject("no")

    with recorder(hooks):
        with pytest.raises(Reject):
            Remembering().call({"command": "view", "path": "/memories"})
        with pytest.raises(Reject):
            run(Listing().call({}))
    assert (refused, RAN) == (["memory", "list"], [])
    with recorder() as seen:
        assert Remembering().call({"command": "view", "path": "/memories"}) == "a secret"
        assert run(Listing().call({})) == "one, two"
    assert [op.name for op in seen.operations] == ["memory", "list"]


@pytest.mark.skipif(
    find_spec("anthropic.lib.tools._toolsets") is None, reason="this version of anthropic has no toolsets"
)
def test_toolsets() -> None:
    from anthropic.lib.tools._toolsets._runnable import BetaRunnableToolset
    from anthropic.types.beta import BetaToolUseBlock

    class Browsing(BetaRunnableToolset):
        toolset_name = "browser"

        def to_dict(self) -> Any:
            return {"type": "browser_toolset_20260801"}

        def call(self, context: Any, name: str, input: Any) -> str:
            RAN.append((name, input))
            return "a page"

    RAN.clear()
    made: Any = {"type": "tool_use", "id": "toolu_1", "name": "open", "input": {"url": "x"}, "toolset_name": "browser"}
    use = BetaToolUseBlock.construct(**made)
    hooks = Hooks()

    @hooks.before("tool.execute", names={"open"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"url": "x"}
        raise Reject("no")

    with recorder(hooks):
        told: Any = Browsing().tool_result(use)
    assert (told["is_error"], RAN) == (True, [])
    assert "Tool call rejected: no" in str(told["content"])
    given: dict[str, Any] = {"context": None, "name": "open", "input": {"url": "x"}}
    with recorder(hooks):
        for places in range(len(given) + 1):
            first, rest = list(given)[:places], list(given)[places:]
            with pytest.raises(ToolError):
                Browsing().call(*[given[name] for name in first], **{name: given[name] for name in rest})
    assert RAN == []
    with recorder() as seen:
        assert "a page" in str(Browsing().tool_result(use))
    assert [(op.name, op.status) for op in seen.operations] == [("open", "success")]
    assert RAN == [("open", {"url": "x"})]
