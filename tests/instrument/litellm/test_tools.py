"""Tools that LiteLLM executes by itself: searches and code that a model asks for, and its sandboxes."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.servers.loopback import Server
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.testing import recorder
from tests.instrument.litellm.parts import nested, told

if not hasattr(litellm, "run_tool_loop"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)

CODE, SEARCH = "litellm_code_execution", "litellm_web_search"
PROVIDER: dict[str, Any] = {"provider": "opensandbox", "api_key": "test"}


class Services(BaseHTTPRequestHandler):
    """A server of sandboxes, and of searches: it says what it was asked."""

    asked: list[str]
    port = property(lambda self: self.connection.getsockname()[1])

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"endpoint": f"127.0.0.1:{self.port}"}))

    def do_DELETE(self) -> None:
        self._send("application/json", "{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/sandboxes"):
            self._send("application/json", json.dumps({"id": "s", "status": {"state": "Running"}}))
        elif self.path.endswith("/code"):
            self.asked.append(body["code"])
            self._send("text/event-stream", f"data: {json.dumps({'type': 'stdout', 'text': '42'})}\n\n")
        else:
            self.asked.append(body["query"])
            found = {"title": "Tea", "url": "https://example.com", "snippet": "Hot."}
            self._send("application/json", json.dumps({"results": [found]}))

    def _send(self, kind: str, content: str) -> None:
        data = content.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Outside:
    """Where it is, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.http = Server(("127.0.0.1", 0), type("Here", (Services,), {"asked": self.asked}))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    made = Outside()
    thread = threading.Thread(target=made.http.serve, daemon=True)
    thread.start()
    monkeypatch.setenv("PERPLEXITYAI_API_KEY", "test")
    monkeypatch.setenv("PERPLEXITY_API_BASE", made.url)
    yield made
    made.http.stop()
    thread.join()
    made.http.server_close()


@pytest.fixture
def code(server: OpenAIServer, to_openai: dict[str, Any], outside: Outside) -> Iterator[dict[str, Any]]:
    """Arguments of a completion whose model wants code to run."""
    from litellm.integrations.code_interpreter_interception import CodeInterpreterInterceptionLogger  # pyright: ignore[reportMissingImports]
    from litellm.sandbox.sandbox_tools import clear_sandbox_tools, register_sandbox_tools  # pyright: ignore[reportMissingImports]

    given = {"sandbox_provider": "opensandbox", "api_key": "test", "api_base": outside.url}
    register_sandbox_tools([{"sandbox_tool_name": "own", "litellm_params": given}])
    litellm.callbacks = [CodeInterpreterInterceptionLogger(sandbox_tool_name="own")]
    server.script(Reply(calls=(Call(CODE, {"code": "6 * 7"}),)), Reply(text="It is 42."))
    yield {**to_openai, "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}
    clear_sandbox_tools()


@pytest.fixture
def search(server: OpenAIServer, to_openai: dict[str, Any], outside: Outside) -> dict[str, Any]:
    """Arguments of a completion whose model wants something to be searched."""
    from litellm.integrations.websearch_interception import WebSearchInterceptionLogger  # pyright: ignore[reportMissingImports]

    litellm.callbacks = [WebSearchInterceptionLogger(enabled_providers=["openai"])]
    server.script(Reply(calls=(Call(SEARCH, {"query": "tea"}),)), Reply(text="Tea is hot."))
    return {**to_openai, "tools": [{"type": "function", "function": {"name": SEARCH, "parameters": {}}}]}


@pytest.fixture(params=["code", "search"])
def asking(request: pytest.FixtureRequest) -> tuple[dict[str, Any], str, dict[str, str]]:
    """Arguments of a completion, the tool that its model asks for, and its arguments."""
    given = request.getfixturevalue(request.param)
    if request.param == "code":
        return given, CODE, {"code": "6 * 7"}
    return given, SEARCH, {"query": "tea"}


Asking = tuple[dict[str, Any], str, dict[str, str]]


def completed(given: dict[str, Any]) -> str:
    return asyncio.run(litellm.acompletion(**given)).choices[0].message.content


def test_what_a_model_has_litellm_do_is_a_tool_of_its_call(
    asking: Asking, outside: Outside, server: OpenAIServer
) -> None:
    given, name, arguments = asking
    hooks = Hooks()
    seen_arguments: list[Any] = []
    hooks.before("tool.execute", names={name})(lambda op: seen_arguments.append(op.request.arguments))
    with recorder(hooks) as seen:
        completed(given)
    assert seen_arguments == [arguments]
    assert outside.asked == [*arguments.values()]
    assert nested(seen) == [
        ("chat gpt-4o-mini", ""),
        ("chat gpt-4o-mini", "chat gpt-4o-mini"),
        (f"execute_tool {name}", "chat gpt-4o-mini"),
    ]
    spent = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    assert (spent, len(server.requests)) == (2 * 28, 2)


def test_the_model_is_told_of_a_refusal(asking: Asking, outside: Outside, server: OpenAIServer) -> None:
    given, name, _ = asking
    hooks = Hooks()

    @hooks.before("tool.execute", names={name})
    def refuse(op: Operation) -> None:
        raise Reject("Not today")

    with recorder(hooks):
        completed(given)
    assert outside.asked == []
    assert told(server) == "Tool call rejected: Not today"


def _responding(given: dict[str, Any]) -> Any:
    tool = {"type": "function", "name": SEARCH, "parameters": {}}
    tools = [tool] if given["tools"][0]["type"] == "function" else given["tools"]
    rest = {name: one for name, one in given.items() if name not in ("messages", "tools")}
    return litellm.aresponses(input="tea", tools=tools, **rest)


def _searching(given: dict[str, Any]) -> Any:
    """A search that LiteLLM makes for a request of messages whose only tool that is, without asking the model."""
    tool = {"name": SEARCH, "input_schema": {"type": "object", "properties": {}}}
    rest = {name: one for name, one in given.items() if name not in ("messages", "tools")}
    messages = [{"role": "user", "content": "tea"}]
    return litellm.anthropic_messages(messages=messages, max_tokens=100, tools=[tool], **rest)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize(("form", "tool"), [(_responding, "code"), (_responding, "search"), (_searching, "search")])
def test_it_is_gated_in_other_forms_of_requests(
    form: Any, tool: str, refused: bool, outside: Outside, request: pytest.FixtureRequest
) -> None:
    given, hooks = request.getfixturevalue(tool), Hooks()
    asked = list[Any]()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        asked.extend(op.request.arguments.values())
        if refused:
            raise Reject("Not today")

    async def main() -> Any:
        return await form(given)

    spanhook.instrument(hooks)
    asyncio.run(main())
    assert asked == [{"code": "6 * 7", "search": "tea"}[tool]]
    assert outside.asked == ([] if refused else asked)


def test_a_stopped_run_ends(asking: Asking, outside: Outside, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("Not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="Not today"):
        completed(asking[0])
    assert (outside.asked, len(server.requests)) == ([], 1)


def test_arguments_can_be_rewritten_and_results_replaced(
    asking: Asking, outside: Outside, server: OpenAIServer
) -> None:
    given, _, arguments = asking
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments=dict.fromkeys(arguments, "other")))
    hooks.after("tool.execute")(lambda op: op.respond(f"{op.response.text[:2]}..."))
    with recorder(hooks):
        completed(given)
    assert outside.asked == ["other"]
    assert told(server).endswith("...")


def test_it_can_be_answered_instead(asking: Asking, outside: Outside, server: OpenAIServer) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("An answer."))
    with recorder(hooks):
        completed(asking[0])
    assert (outside.asked, told(server)) == ([], "An answer.")


def test_what_the_model_is_told_is_the_same_without_spanhook(
    asking: Asking, outside: Outside, server: OpenAIServer
) -> None:
    given, name, arguments = asking

    def said() -> Any:
        completed(given)
        server.script(Reply(calls=(Call(name, arguments),)), Reply(text="Done."))
        return told(server)

    without = said()
    with recorder(Hooks()):
        assert said() == without
    spanhook.uninstrument()
    assert said() == without


# ------------------------------------------------------------------------------------------------- called directly


async def _in_a_container(url: str) -> Any:
    container = await litellm.acreate_sandbox(**PROVIDER, api_base=url)
    return await litellm.arun_code(container=container, code="6 * 7", **PROVIDER)


async def _at_once(url: str) -> Any:
    return await litellm.acode_interpreter_tool(code="6 * 7", api_base=url, **PROVIDER)


directly = pytest.mark.parametrize("run", [_in_a_container, _at_once])


@directly
def test_code_that_the_application_has_run_is_a_tool(run: Any, outside: Outside) -> None:
    with recorder(Hooks()) as seen:
        assert asyncio.run(run(outside.url)).stdout == "42"
    assert [(op.kind, op.name) for op in seen.operations] == [("tool.execute", CODE)]


@directly
def test_code_that_the_application_has_run_can_be_refused_and_answered(run: Any, outside: Outside) -> None:
    refusing, answering = Hooks(), Hooks()

    @refusing.before("tool.execute", names={CODE})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"code": "6 * 7"}
        raise Reject("Not today")

    answering.before("tool.execute")(lambda op: op.respond("An answer."))
    with recorder(refusing), pytest.raises(Reject, match="Not today"):
        asyncio.run(run(outside.url))
    litellm.in_memory_llm_clients_cache.flush_cache()
    with recorder(answering):
        assert asyncio.run(run(outside.url)).stdout == "An answer."
    assert outside.asked == []


def test_code_of_a_skill_is_a_tool() -> None:
    module = pytest.importorskip("litellm.llms.litellm_proxy.skills.sandbox_executor")
    executor, hooks = module.SkillsSandboxExecutor(), Hooks()

    @hooks.before("tool.execute", names={CODE})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"code": "6 * 7"}
        raise Reject("Not today")

    with recorder(hooks):
        result = executor.execute("6 * 7", {})
    assert (result["success"], result["output"]) == (False, "Tool call rejected: Not today")
