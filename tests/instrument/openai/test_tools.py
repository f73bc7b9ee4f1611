"""What the tool runners of OpenAI's newer SDKs run are operations: gated, counted, and refused to the model."""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import async_client, sync_client
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.settings import Settings
from spanhook.testing import recorder

pytestmark = pytest.mark.skipif(
    find_spec("openai.lib.responses_tool_runner") is None, reason="this version of openai has no tool runners"
)
RAN: list[Any] = []
ASKED: Any = {"model": "gpt-4o-mini", "input": "hi"}
TOOL: Any = {
    "type": "function",
    "name": "look_up",
    "description": "Look up the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


class Place(BaseModel):
    """Arguments of a function that is registered with a model."""

    city: str


def look_up(arguments: dict[str, Any]) -> str:
    RAN.append(arguments)
    return f"{arguments['city']}: sunny"


async def alook_up(arguments: dict[str, Any]) -> str:
    return look_up(arguments)


def typed(arguments: Place) -> str:
    RAN.append(arguments)
    return f"{arguments.city}: sunny"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    RAN.clear()
    with OpenAIServer() as running:
        running.script(Reply(calls=(Call("look_up", {"city": "Rome"}),)), "done")
        yield running


def sync(server: OpenAIServer, **options: Any) -> str:
    from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner

    with sync_client(server.url) as client:
        runner = ResponsesToolRunner(functions=[RegisteredFunction(TOOL, look_up)])
        return runner.run(client, ASKED, **options).output_text


def with_a_model(server: OpenAIServer) -> str:
    import openai
    from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner

    tool: Any = openai.pydantic_function_tool(Place, name="look_up")
    from openai.lib._tools import ResponsesPydanticFunctionTool

    made: Any = ResponsesPydanticFunctionTool(tool["function"] | {"type": "function"}, Place)
    with sync_client(server.url) as client:
        runner = ResponsesToolRunner(functions=[RegisteredFunction.from_tool(made, execute=typed)])
        return runner.run(client, ASKED).output_text


def later(server: OpenAIServer, **options: Any) -> str:
    from openai.lib.responses_tool_runner import AsyncRegisteredFunction, AsyncResponsesToolRunner

    async def main() -> str:
        async with async_client(server.url) as client:
            runner = AsyncResponsesToolRunner(functions=[AsyncRegisteredFunction(TOOL, alook_up)])
            return (await runner.run(client, ASKED, **options)).output_text

    return run(main())


Runner = Callable[..., str]
RUNNERS = pytest.mark.parametrize("runner", [sync, later], ids=["sync", "async"])


def sent_back(server: OpenAIServer) -> Any:
    """What the model was told of the function."""
    return server.requests[-1].body["input"][-1]


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    return hooks


@RUNNERS
@pytest.mark.parametrize("options", [{}, {"stream": True}, {"stream": True, "eager": True}], ids=str)
def test_it_is_one_operation(runner: Runner, options: dict[str, Any], server: OpenAIServer) -> None:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        assert runner(server, **options) == "done"
    assert [(op.name, op.status) for op in seen.operations if op.kind == "tool.execute"] == [("look_up", "success")]
    (span,) = [span for span in seen.spans if span.name == "execute_tool look_up"]
    attributes = span.attributes or {}
    assert (attributes["gen_ai.tool.call.id"], attributes["gen_ai.tool.description"]) == ("call_1", TOOL["description"])
    assert json.loads(str(attributes["gen_ai.tool.call.arguments"])) == {"city": "Rome"}
    assert RAN == [{"city": "Rome"}]


@RUNNERS
@pytest.mark.parametrize("options", [{}, {"stream": True, "eager": True}], ids=str)
def test_a_refused_one_does_not_run_and_the_model_goes_on(
    runner: Runner, options: dict[str, Any], server: OpenAIServer
) -> None:
    with recorder(refusing()) as seen:
        assert runner(server, **options) == "done"
    assert (RAN, sent_back(server)["output"]) == ([], "Tool call rejected: not for you")
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["rejected"]


@pytest.mark.every_value
@pytest.mark.parametrize("runner", [sync, later, with_a_model])
def test_arguments_are_rewritten_and_results_replaced(runner: Runner, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def before(op: Operation) -> None:
        assert op.request.arguments == {"city": "Rome"}
        op.replace(arguments={"city": "Bonn"})

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        assert "Bonn: sunny" in str(op.result)
        op.respond("rainy")

    with recorder(hooks):
        assert runner(server) == "done"
    assert [one if isinstance(one, dict) else one.model_dump() for one in RAN] == [{"city": "Bonn"}]
    assert sent_back(server) == {"type": "function_call_output", "call_id": "call_1", "output": "rainy"}


@RUNNERS
def test_a_hook_answers_instead(runner: Runner, server: OpenAIServer) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond({"said": "by a hook"}))
    with recorder(hooks):
        assert runner(server) == "done"
    assert (RAN, json.loads(sent_back(server)["output"])) == ([], {"said": "by a hook"})


# ----------------------------------------------------------------------------------- computers and browsers


def _png() -> str:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


class Driver:
    """Does nothing, and keeps what it was asked for."""

    def _do(self, action: Any) -> None:
        RAN.append(action.type)

    click = double_click = drag = keypress = move = scroll = type = wait = _do

    def screenshot(self) -> Any:
        return {"data": _png(), "media_type": "image/png"}


def test_a_computer_does_nothing_that_is_refused() -> None:
    from openai.lib.computer import ComputerToolset
    from openai.types.responses import ResponseComputerToolCall

    RAN.clear()
    action = {"type": "click", "button": "left", "x": 1, "y": 2}
    made: Any = {"id": "c", "call_id": "call_1", "type": "computer_call", "status": "completed", "actions": [action]}
    call = ResponseComputerToolCall.construct(**made, pending_safety_checks=[])
    hooks, told = Hooks(), list[Any]()

    @hooks.before("tool.execute", names={"computer"})
    def refuse(op: Operation) -> None:
        told.append(op.request.arguments["actions"][0]["type"])
        raise Reject("no")

    with recorder(hooks), pytest.raises(Reject):
        ComputerToolset(Driver()).execute(call)
    assert (told, RAN) == (["click"], [])


def test_a_browser_goes_nowhere_that_is_refused() -> None:
    from openai.lib.browser import BrowserToolset
    from openai.types.responses import ResponseFunctionToolCall

    def _yes(*context: Any) -> bool:
        return True

    class Browser:
        def state(self) -> Any:
            RAN.append("state")
            return {"tabs": [], "active_tab_id": None}

        def navigate(self, action: Any) -> None:
            RAN.append(action)

    RAN.clear()
    browser: Any = BrowserToolset(Browser(), members=["navigate"], confirm=_yes, url_policy=_yes)
    [name] = [tool["name"] for tool in browser.tools if "navigate" in tool["name"]]
    call = ResponseFunctionToolCall(
        type="function_call",
        call_id="call_1",
        name=name,
        arguments='{"url": "https://example.com"}',
        status="completed",
    )
    with recorder(refusing()) as seen:
        told = browser.execute(call)
    assert (RAN, told["output"]) == ([], "Tool call rejected: not for you")
    assert [(op.name, op.status) for op in seen.operations] == [(name, "rejected")]
